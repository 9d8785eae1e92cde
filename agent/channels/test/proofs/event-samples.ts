/**
 * Events of every type, generated from the contract. Each text in them names its path, so a leaked text shows
 * its source. Each type occurs with all its keys; types of which people may see a part also occur without
 * each optional key.
 */
import { EVENT_TYPES, type EventDraft, EVENTS, type EventType } from '@cairn/protocol'
import { z } from 'zod'
import { VISIBLE } from '../../src/render.ts'
import { VISITOR_TYPES } from '../../src/website/records.ts'

type Schema = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  minimum?: number
  minItems?: number
  format?: string
  pattern?: string
}

const SEEN: ReadonlySet<EventType> = new Set([...VISIBLE, ...VISITOR_TYPES])

export const MARK = 'zqcanary'
/** The marks in a text, without the ids of the samples. */
export const marksIn = (text: string): string[] =>
  [...new Set(text.match(/zqcanary[-a-z]*[a-z]/g))].toSorted()

const plain = (path: readonly string[]): string =>
  path
    .join('-')
    .replaceAll(/[^a-z]+/gi, '-')
    .toLowerCase()

/** `without`: the path of a key that is left out. */
function sampleOf(schema: Schema, path: readonly string[], without: string): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return sampleOf(choice, path, without)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object': {
      const entries = Object.entries(schema.properties ?? {}).flatMap(([key, value]): [string, unknown][] => {
        const at = [...path, key]
        return at.join('.') === without ? [] : [[key, sampleOf(value, at, without)]]
      })
      if (entries.length > 0) return Object.fromEntries(entries)
      const { additionalProperties: inner } = schema
      const value = typeof inner === 'object' && inner.type !== undefined ? inner : { type: 'string' }
      return { [`${MARK}-${plain([...path, 'key'])}`]: sampleOf(value, [...path, 'value'], without) }
    }
    case 'array':
      return schema.items === undefined ? [] : [sampleOf(schema.items, path, without)]
    case 'number':
    case 'integer':
      return Math.max(1, schema.minimum ?? 1)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return `${MARK}-${plain(path)}`
  }
}

/** Paths of optional keys, at any depth. */
function optionalIn(schema: Schema, path: readonly string[]): string[] {
  const inner = schema.anyOf?.[0] ?? schema.oneOf?.[0] ?? schema
  return Object.entries(inner.properties ?? {}).flatMap(([key, value]) => {
    const at = [...path, key]
    return [
      ...(inner.required?.includes(key) === true ? [] : [at.join('.')]),
      ...optionalIn(value.items ?? value, at),
    ]
  })
}

export type Samples = { drafts: EventDraft[]; types: EventType[]; missing: EventType[] }

/** `missing`: types whose contract requires more than a text that names its path. */
export function eventSamples(): Samples {
  const drafts: EventDraft[] = []
  const missing: EventType[] = []
  const types = EVENT_TYPES.filter(type => EVENTS[type].producer !== 'none')
  for (const type of types) {
    const schema = z.toJSONSchema(EVENTS[type].write, { io: 'input', unrepresentable: 'any' }) as Schema
    const datas = ['', ...(SEEN.has(type) ? optionalIn(schema, [type]) : [])]
      .map(without => sampleOf(schema, [type], without))
      .filter(data => EVENTS[type].write.safeParse(data).success)
    if (datas.length === 0) missing.push(type)
    drafts.push(...datas.map(data => ({ type, data }) as EventDraft))
  }
  return { drafts, types, missing }
}
