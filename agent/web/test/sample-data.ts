/**
 * A payload for a type made from its contract, so that a new key or type is covered the day it is declared.
 */
import { EVENTS, type EventType, type SessionEvent } from '@cairn/protocol'

type Schema = { _zod: { def: Def } }
type Def = {
  type: string
  shape?: Record<string, Schema>
  innerType?: Schema
  element?: Schema
  options?: Schema[]
  entries?: Record<string, string>
  values?: unknown[]
}

/** `full` fills in optional keys and list items; without it they are left out. */
export function sampleOf({ _zod: { def } }: Schema, full: boolean): unknown {
  switch (def.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(def.shape ?? {}).flatMap(([key, schema]) => {
          const value = sampleOf(schema, full)
          return value === undefined ? [] : [[key, value]]
        }),
      )
    case 'optional':
    case 'default':
      return full && def.innerType ? sampleOf(def.innerType, full) : undefined
    case 'nullable':
      return full && def.innerType ? sampleOf(def.innerType, full) : null
    case 'array':
      return full && def.element ? [sampleOf(def.element, full)] : []
    case 'record':
      return full ? { key: 1 } : {}
    case 'union':
      return def.options?.[0] ? sampleOf(def.options[0], full) : undefined
    case 'enum':
      return Object.values(def.entries ?? {})[0]
    case 'literal':
      return def.values?.[0]
    case 'string':
      return 'text'
    case 'number':
      return 7
    case 'boolean':
      return full
    case 'unknown':
      return full ? { any: 'thing' } : undefined
    default:
      throw new Error(`[sampleOf] no sample for a ${def.type}; add one here`)
  }
}

export const sampleData = (type: EventType, full: boolean): Record<string, unknown> =>
  sampleOf(EVENTS[type].write as unknown as Schema, full) as Record<string, unknown>

/** The smallest payload. A wake without the flags of a background review begins or continues a turn. */
const smallest = (type: EventType): Record<string, unknown> =>
  type === 'harness.wake' ? { worker_id: 'text', cursor: 7 } : sampleData(type, false)

/** An event of a log, some milliseconds after the start of time. */
export const eventAt = (
  id: number,
  type: EventType,
  data: Record<string, unknown> = {},
  ms = id * 10,
): SessionEvent =>
  ({
    id,
    session_id: 's',
    type,
    created_at: new Date(ms).toISOString(),
    data: { ...smallest(type), ...data },
  }) as SessionEvent
