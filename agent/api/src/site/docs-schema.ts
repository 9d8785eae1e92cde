/** Schemas of the reference, as phrases and tables. */
import type { JsonSchema, Parameter } from '../openapi-document.ts'
import { escapeHtml, prose } from './html.ts'

const REF = '#/components/schemas/'
export const anchor = (name: string): string => name.replaceAll(/[^A-Za-z0-9]+/g, '-')

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
    schema.minLength && `at least ${schema.minLength} characters`,
    schema.maxLength && `at most ${schema.maxLength} characters`,
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

const cells = (...contents: string[]): string => contents.map(content => `<td>${content}</td>`).join('')
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`
const table = (rows: readonly string[]): string =>
  `<table tabindex="0"><tbody>${rows.join('')}</tbody></table>`

export function fields(schema: JsonSchema): string {
  const union = schema.anyOf ?? schema.oneOf
  if (union && union.every(part => part.properties)) return union.map(fields).join('<p class="soft">or</p>')
  if (!schema.properties)
    return `<p>${schema.description === undefined ? phrase(schema) : prose(schema.description)}</p>`
  const rows = Object.entries(schema.properties).map(([key, value]) => {
    const optional = schema.required?.includes(key) ? '' : ' <span class="soft">optional</span>'
    return `<tr>${cells(code(key) + optional, phrase(value), prose(value.description ?? ''))}</tr>`
  })
  return rows.length === 0 ? '<p class="soft">No documented keys.</p>' : table(rows)
}

export const parameterRows = (parameters: readonly Parameter[]): string =>
  table(
    parameters.map(
      ({ name, in: place, schema, description }) =>
        `<tr>${cells(code(name), place, phrase(schema), prose(description ?? ''))}</tr>`,
    ),
  )
