/** The configuration's keys for docs/tune/config.md and --help. */
import { z } from 'zod'
import { configSchema } from './config.ts'

type Property = {
  type?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  description?: string
  items?: Property
  additionalProperties?: Property
  properties?: Record<string, unknown>
  required?: string[]
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  pattern?: string
}

export type ConfigKey = { key: string; values: string; default: string; meaning: string }

/** Every key in order. `default` is empty for a key without one, and `required` for a mandatory key. */
export function configKeys(): ConfigKey[] {
  const { properties = {}, required = [] } = z.toJSONSchema(configSchema, { io: 'input' }) as {
    properties?: Record<string, Property>
    required?: string[]
  }
  return Object.entries(properties).map(([key, property]) => ({
    key,
    values: typeOf(property),
    default: defaultOf(property, required.includes(key)),
    meaning: property.description ?? '',
  }))
}

function typeOf({
  type,
  enum: values,
  const: only,
  items,
  additionalProperties,
  properties,
  required = [],
  minimum,
  exclusiveMinimum,
  maximum,
}: Property): string {
  if (only !== undefined) return JSON.stringify(only)
  if (values) return values.map(String).join(' | ')
  if (type === 'array' && items) return `list of ${typeOf(items)}`
  if (type === 'object' && additionalProperties) return `names mapped to ${typeOf(additionalProperties)}`
  if (type === 'object' && properties)
    return `{${Object.keys(properties)
      .map(key => (required.includes(key) ? key : `${key}?`))
      .join(', ')}}`
  const limits = [
    minimum === undefined ? [] : `≥ ${minimum}`,
    exclusiveMinimum === undefined ? [] : `> ${exclusiveMinimum}`,
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : `≤ ${maximum}`,
  ].flat()
  const name =
    type === 'boolean'
      ? 'true | false'
      : type === 'string'
        ? 'text'
        : type === 'integer'
          ? 'whole number'
          : 'number'
  return limits.length === 0 ? name : `${name} ${limits.join(' and ')}`
}

function defaultOf({ default: value }: Property, isRequired: boolean): string {
  if (isRequired) return 'required'
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
