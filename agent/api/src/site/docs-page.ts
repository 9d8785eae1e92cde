/**
 * The API reference as one readable page, rendered from the OpenAPI document. No script, no external asset.
 * Scalar's static bundle is not used: it is 3.6 MB, and its styles, which it injects, need `'unsafe-inline'`.
 */
import { createHash } from 'node:crypto'
import { ERRORS, EVENT_TYPES, EVENTS, FAMILIES, familyOf } from '@cairn/protocol'
import { openapiDocument, recordName } from '../openapi.ts'
import type { JsonSchema, Operation } from '../openapi-document.ts'
import { anchor, fields, parameterRows } from './docs-schema.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { escapeHtml, prose } from './html.ts'

export const DOCS_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(DOCS_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

type Document = ReturnType<typeof openapiDocument>
type Listed = { path: string; method: string; operation: Operation; hasAlias: boolean }

const methodOf = (method: string): string => `<span class="method">${method.toUpperCase()}</span>`
const aliasOf = (path: string): string => path.replace('/v1/', '/v1/api/')
const pathOf = (path: string): string => `<span class="path">${escapeHtml(path)}</span>`
const joined = <T>(items: readonly T[], draw: (item: T) => string, between = ''): string =>
  items.map(draw).join(between)

/** Every operation once; a path with an alias under /v1/api names it. */
const operationsOf = ({ paths }: Document): Listed[] =>
  Object.entries(paths)
    .filter(([path]) => !path.startsWith('/v1/api/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method,
        operation,
        hasAlias: aliasOf(path) in paths,
      })),
    )

function operationSection({ method, path, operation, hasAlias }: Listed): string {
  const { operationId: id, summary, description, parameters } = operation
  const [status, success] = Object.entries(operation.responses)[0] ?? ['200', { description: '' }]
  const content = 'content' in success ? Object.entries(success.content ?? {})[0] : undefined
  const refusals = Object.keys(operation.responses).slice(1)
  const body = operation.requestBody?.content['application/json']?.schema
  const alias = hasAlias ? ` Also at ${pathOf(aliasOf(path))}.` : ''
  return [
    `<section id="${id}"><h3>${methodOf(method)} ${pathOf(path)}</h3>`,
    `<p>${prose(summary)}.</p><p class="soft">${escapeHtml(description)}${alias}</p>`,
    (parameters ? `<h4>Parameters</h4>${parameterRows(parameters)}` : '') +
      (body ? `<h4>Body</h4>${fields(body)}` : ''),
    `<h4>Response ${status}, ${content ? escapeHtml(content[0]) : 'empty'}</h4>` +
      `${content ? fields(content[1].schema) : ''}`,
    '<p class="soft">Errors: ' +
      `${joined(refusals, code => `<a href="#status-${code}">${code}</a>`, ', ')}.</p></section>`,
  ].join('\n')
}

const familySection = (schemas: Record<string, JsonSchema>) => (family: (typeof FAMILIES)[number]) => {
  const types = EVENT_TYPES.filter(type => familyOf(type) === family)
  const heading = `<h3 id="family-${family}">${family}</h3>`
  if (family === 'reserved')
    return (
      `${heading}<p>Declared for clients, but never emitted by this version: ` +
      `${joined(types, type => `<code>${type}</code>`, ', ')}.</p>`
    )
  const sections = joined(types, type => {
    const name = recordName(type)
    const data = schemas[name]?.properties?.['data'] ?? {}
    return (
      `<section id="schema-${anchor(name)}"><h4><code>${type}</code></h4>` +
      `<p>${prose(EVENTS[type].when)}</p>${fields(data)}</section>`
    )
  })
  return heading + sections
}

function errorTable(): string {
  const statuses = [...new Set(Object.values(ERRORS).map(({ status }) => status))].toSorted((a, b) => a - b)
  const rows = joined(statuses, status =>
    joined(
      [
        ...Object.entries(ERRORS)
          .filter(([, error]) => error.status === status)
          .entries(),
      ],
      ([index, [code, { title, retryable }]]) => {
        // Links to a status lead to its first row.
        const id = index === 0 ? ` id="status-${status}"` : ''
        return (
          `<tr${id}><td>${status}</td><td><code>${code}</code></td><td>${escapeHtml(title)}</td>` +
          `<td>${retryable ? 'yes' : 'no'}</td></tr>`
        )
      },
    ),
  )
  return (
    '<table tabindex="0"><thead>' +
    '<tr><th>Status</th><th>Code</th><th>Meaning</th><th>Retryable</th></tr>' +
    `</thead><tbody>${rows}</tbody></table>`
  )
}

const operationLink = ({ method, operation: { operationId: id } }: Listed): string =>
  `<a href="#${id}">${methodOf(method)}${id}</a>`

function navigation(tags: Document['tags'], operations: readonly Listed[]): string {
  const links = joined(tags, ({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return `<b>${name}</b>${joined(own, operationLink)}`
  })
  return (
    '<nav><a href="#top"><strong>Cairn Agent</strong></a><a href="/openapi.json">openapi.json</a>' +
    `${links}<b>events</b>${joined(FAMILIES, family => `<a href="#family-${family}">${family}</a>`)}` +
    '<b>more</b><a href="#schemas">schemas</a><a href="#errors">errors</a></nav>'
  )
}

function schemaSection([name, schema]: [string, JsonSchema]): string {
  const shown =
    name === 'EventRecord' ? '<p>One of the records above, by <code>type</code>.</p>' : fields(schema)
  return `<section id="schema-${anchor(name)}"><h3>${escapeHtml(name)}</h3>${shown}</section>`
}

const INTRODUCTION =
  '<p>A session is a log of typed events. Send messages, follow the log from a cursor, and ' +
  'approve or reject what needs a human decision. Send <code>Authorization: Bearer …</code>: a ' +
  'user token for every route, a service account token below <code>/v1/api/</code>.</p>\n' +
  '<p>Follow a log: <code>curl -N -H "Authorization: Bearer $TOKEN" ' +
  '"$URL/v1/sessions/$ID/events?after=0"</code></p>'
const OF_EVENTS =
  '<p>A record is <code>{id, session_id, type, created_at, data}</code>; <code>id</code> is the cursor. ' +
  'The tables describe <code>data</code>. New types and keys may appear at any time.</p>'
const OF_ERRORS =
  '<p>Every error is <code>application/problem+json</code>: ' +
  '<code>{type, title, status, code, detail, request_id, errors?}</code>.</p>'

let made: string | null = null

export const docsPage = (): string => (made ??= makePage(openapiDocument()))

function makePage(document: Document): string {
  const { components, tags } = document
  const operations = operationsOf(document)
  const named = Object.entries(components.schemas).filter(([name]) => !name.startsWith('event.'))
  const sections = joined(tags, ({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return `<h2 id="tag-${name}">${name}</h2>${joined(own, operationSection)}`
  })
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
      '<meta name="viewport" content="width=device-width,initial-scale=1">' +
      `<title>Cairn Agent: reference</title><style>${DOCS_STYLE}</style></head>`,
    `<body>${navigation(tags, operations)}`,
    `<main id="top"><h1>Cairn Agent: reference</h1>${INTRODUCTION}`,
    `${sections}<h2 id="events">Events</h2>${OF_EVENTS}`,
    `${joined(FAMILIES, familySection(components.schemas))}`,
    `<h2 id="schemas">Schemas</h2>${joined(named, schemaSection)}`,
    `<h2 id="errors">Errors</h2>${OF_ERRORS}${errorTable()}</main></body></html>`,
  ].join('\n')
}
