/**
 * The reference as one readable page, from the same document that machines read. No script, no outside asset.
 */
import { createHash } from 'node:crypto'
import { ERRORS, EVENT_TYPES, EVENTS, FAMILIES, familyOf } from '@cairn/protocol'
import { openapiDocument, recordName } from '../openapi.ts'
import type { JsonSchema, Operation, Parameter } from '../openapi-document.ts'
import { escapeHtml, prose } from './html.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:light-dark(#1d2320,#e4e8e5);--soft:light-dark(#5b655f,#9aa59f);--line:light-dark(#dde3df,#333b37);--paper:light-dark(#fbfcfb,#141816);--tint:light-dark(#eef3f0,#1e2421);--accent:light-dark(#17694c,#6cc7a0)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{margin:0;font:15px/1.6 system-ui,sans-serif;color:var(--ink);background:var(--paper);display:grid;grid-template-columns:minmax(0,17rem) minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem 1rem 3rem;border-right:1px solid var(--line);font-size:13px}
nav a{display:block;padding:.15rem .4rem;color:inherit;text-decoration:none;border-radius:4px;overflow-wrap:anywhere}nav a:hover{background:var(--tint)}nav b{display:block;margin:1rem 0 .3rem .4rem}
main{padding:2rem clamp(1rem,4vw,4rem) 6rem;max-width:70rem}
h1{font-size:1.8rem;margin:0 0 .5rem}h2{margin:3rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}h3{margin:2.2rem 0 .3rem;font-size:1rem;font-weight:600;overflow-wrap:anywhere}h4{margin:1rem 0 .2rem;font-size:.85rem;color:var(--soft)}
code,.path{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}code{background:var(--tint);padding:.05rem .3rem;border-radius:4px}
.method{display:inline-block;min-width:3.6rem;font:600 12px/1.6 ui-monospace,monospace;color:var(--accent)}
table{border-collapse:collapse;width:100%;font-size:13.5px;display:block;overflow-x:auto}td,th{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line)}th{font-weight:600;color:var(--soft)}td:first-child{white-space:nowrap}
a{color:var(--accent)}p{max-width:46rem;margin:.4rem 0}.soft{color:var(--soft)}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto;border-right:0;border-bottom:1px solid var(--line)}nav a{display:inline-block}}
`
export const DOCS_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const REF = '#/components/schemas/'
const anchor = (name: string): string => name.replaceAll(/[^A-Za-z0-9]+/g, '-')

/** A schema in one phrase. */
function phrase(schema: JsonSchema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(REF.length)
    return `<a href="#schema-${anchor(name)}">${escapeHtml(name)}</a>`
  }
  if (schema.const !== undefined) return `<code>${escapeHtml(JSON.stringify(schema.const))}</code>`
  if (schema.enum)
    return schema.enum.map(value => `<code>${escapeHtml(JSON.stringify(value))}</code>`).join(' | ')
  const union = schema.anyOf ?? schema.oneOf
  if (union) return union.map(phrase).join(' | ')
  if (schema.type === 'array') return `array of ${schema.items ? phrase(schema.items) : 'anything'}`
  if (schema.type === 'object' && schema.properties)
    return `{${Object.keys(schema.properties)
      .map(key => `${escapeHtml(key)}${schema.required?.includes(key) ? '' : '?'}`)
      .join(', ')}}`
  if (schema.type === 'object') return 'object'
  const bounds = [
    schema.minLength && `from ${schema.minLength} characters`,
    schema.maxLength && `to ${schema.maxLength} characters`,
    schema.minimum !== undefined && `≥ ${schema.minimum}`,
    schema.maximum !== undefined && `≤ ${schema.maximum}`,
    schema.format,
  ]
  return [
    Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'anything'),
    ...bounds.filter(Boolean),
  ]
    .map(part => escapeHtml(String(part)))
    .join(', ')
}

function fields(schema: JsonSchema): string {
  const union = schema.anyOf ?? schema.oneOf
  if (union && union.every(part => part.properties)) return union.map(fields).join('<p class="soft">or</p>')
  if (!schema.properties)
    return `<p>${schema.description === undefined ? phrase(schema) : prose(schema.description)}</p>`
  const rows = Object.entries(schema.properties).map(
    ([key, value]) =>
      `<tr><td><code>${escapeHtml(key)}</code>${schema.required?.includes(key) ? '' : ' <span class="soft">optional</span>'}</td><td>${phrase(value)}</td><td>${prose(value.description ?? '')}</td></tr>`,
  )
  return rows.length === 0
    ? '<p class="soft">No keys are documented.</p>'
    : `<table><tbody>${rows.join('')}</tbody></table>`
}

const parameterRows = (parameters: Parameter[]): string =>
  `<table><tbody>${parameters.map(({ name, in: place, schema, description }) => `<tr><td><code>${escapeHtml(name)}</code></td><td>${place}</td><td>${phrase(schema)}</td><td>${prose(description ?? '')}</td></tr>`).join('')}</tbody></table>`

function operationSection(method: string, path: string, operation: Operation, hasAlias: boolean): string {
  const [status, success] = Object.entries(operation.responses)[0] ?? ['200', { description: '' }]
  const content = 'content' in success ? Object.entries(success.content ?? {})[0] : undefined
  const refusals = Object.keys(operation.responses).slice(1)
  const body = operation.requestBody?.content['application/json']?.schema
  return `<section id="${operation.operationId}"><h3><span class="method">${method.toUpperCase()}</span> <span class="path">${escapeHtml(path)}</span></h3>
<p>${prose(operation.summary)}.</p><p class="soft">${escapeHtml(operation.description)}${hasAlias ? ` Also at <span class="path">${escapeHtml(path.replace('/v1/', '/v1/api/'))}</span>.` : ''}</p>
${operation.parameters ? `<h4>Parameters</h4>${parameterRows(operation.parameters)}` : ''}${body ? `<h4>Body</h4>${fields(body)}` : ''}
<h4>Answer ${status}${content ? `, ${escapeHtml(content[0])}` : ', empty'}</h4>${content ? fields(content[1].schema) : ''}
<p class="soft">May be refused with ${refusals.map(code => `<a href="#status-${code}">${code}</a>`).join(', ')}.</p></section>`
}

function eventSections(schemas: Record<string, JsonSchema>): string {
  return FAMILIES.map(family => {
    const types = EVENT_TYPES.filter(type => familyOf(type) === family)
    if (family === 'reserved')
      return `<h3 id="family-reserved">reserved</h3><p>Declared so that clients may parse them; nothing produces them: ${types.map(type => `<code>${type}</code>`).join(', ')}.</p>`
    return `<h3 id="family-${family}">${family}</h3>${types
      .map(type => {
        const data = schemas[recordName(type)]?.properties?.['data'] ?? {}
        return `<section id="schema-${anchor(recordName(type))}"><h4><code>${type}</code></h4><p>${prose(EVENTS[type].when)}</p>${fields(data)}</section>`
      })
      .join('')}`
  }).join('')
}

let made: string | null = null

export function docsPage(): string {
  if (made !== null) return made
  const { paths, components, tags } = openapiDocument()
  const operations = Object.entries(paths)
    .filter(([path]) => !path.startsWith('/v1/api/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )
  const named = Object.entries(components.schemas).filter(([name]) => !name.startsWith('event.'))
  const nav = tags
    .map(
      ({ name }) =>
        `<b>${name}</b>${operations
          .filter(({ operation }) => operation.tags.includes(name))
          .map(
            ({ method, operation }) =>
              `<a href="#${operation.operationId}"><span class="method">${method.toUpperCase()}</span>${operation.operationId}</a>`,
          )
          .join('')}`,
    )
    .join('')
  const sections = tags
    .map(
      ({ name }) =>
        `<h2 id="tag-${name}">${name}</h2>${operations
          .filter(({ operation }) => operation.tags.includes(name))
          .map(({ method, path, operation }) =>
            operationSection(method, path, operation, path.replace('/v1/', '/v1/api/') in paths),
          )
          .join('')}`,
    )
    .join('')
  const statuses = [...new Set(Object.values(ERRORS).map(({ status }) => status))].toSorted((a, b) => a - b)
  const errors = statuses
    .map(status =>
      Object.entries(ERRORS)
        .filter(([, error]) => error.status === status)
        .map(
          ([code, { title, retryable }], index) =>
            `<tr${index === 0 ? ` id="status-${status}"` : ''}><td>${status}</td><td><code>${code}</code></td><td>${escapeHtml(title)}</td><td>${retryable ? 'yes' : 'no'}</td></tr>`,
        )
        .join(''),
    )
    .join('')
  made = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Cairn Agent: reference</title><style>${STYLE}</style></head>
<body><nav><a href="#top"><strong>Cairn Agent</strong></a><a href="/openapi.json">openapi.json</a>${nav}<b>events</b>${FAMILIES.map(family => `<a href="#family-${family}">${family}</a>`).join('')}<b>more</b><a href="#schemas">schemas</a><a href="#errors">errors</a></nav>
<main id="top"><h1>Cairn Agent: reference</h1><p>A session is a log of typed events. Write a message, follow the log from a cursor, decide what needs a human. Send <code>Authorization: Bearer …</code>: a user token anywhere, a service-account token below <code>/v1/api/</code>.</p>
<p>Follow a log: <code>curl -N -H "Authorization: Bearer $TOKEN" "$URL/v1/sessions/$ID/events?after=0"</code></p>
${sections}<h2 id="events">Events</h2><p>A record is <code>{id, session_id, type, created_at, data}</code>; <code>id</code> is the cursor. The tables describe <code>data</code>. New types and keys may appear without notice.</p>${eventSections(components.schemas)}
<h2 id="schemas">Schemas</h2>${named.map(([name, schema]) => `<section id="schema-${anchor(name)}"><h3>${escapeHtml(name)}</h3>${name === 'EventRecord' ? '<p>One of the records above, by <code>type</code>.</p>' : fields(schema)}</section>`).join('')}
<h2 id="errors">Errors</h2><p>Every error is <code>application/problem+json</code>: <code>{type, title, status, code, detail, request_id, errors?}</code>.</p><table><thead><tr><th>Status</th><th>Code</th><th>Meaning</th><th>Trying again can help</th></tr></thead><tbody>${errors}</tbody></table></main></body></html>`
  return made
}
