/**
 * The compact form of a session's row in the answer to a commit: its values only, without `recent`, which
 * only the writer reads. It is a string within the answer's JSON, because it is rarely read and skipping a
 * string is cheaper than parsing it. Constant columns are serialised once per session. The same lists
 * determine which columns the writer updates.
 */
import type { StoredSession } from '../engine/session-rows.ts'

/** Columns that never change. */
const FIXED = [
  'org_key',
  'key',
  'id',
  'org_id',
  'created_by',
  'created_by_kind',
  'agent',
  'channel',
  'parent_id',
  'config',
  'created_at',
] as const satisfies readonly (keyof StoredSession)[]

/** Columns that every event changes. */
export const GROWING = ['updated_at', 'last_id'] as const satisfies readonly (keyof StoredSession)[]

/** All columns that can change, in the order of `movingOf`. */
export const MOVING = [
  ...GROWING,
  'status',
  'title',
  'model',
  'message_count',
  'tool_call_count',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'cursor',
  'wake_id',
  'wake_at',
  'asked_id',
  'worker_id',
  'epoch',
  'lease_until',
  'lease_at',
  'delta_low',
  'pruned',
  'saga',
  'provisional',
  'unpriced',
] as const satisfies readonly (keyof StoredSession)[]

export type Moving = ValuesOf<typeof MOVING>
type ValuesOf<Names extends readonly (keyof StoredSession)[]> = {
  -readonly [At in keyof Names]: StoredSession[Names[At]]
}
/** Written out: a loop over names takes three times as long, for every commit. */
export const movingOf = (row: StoredSession): Moving => [
  row.updated_at,
  row.last_id,
  row.status,
  row.title,
  row.model,
  row.message_count,
  row.tool_call_count,
  row.input_tokens,
  row.output_tokens,
  row.cost_usd,
  row.cursor,
  row.wake_id,
  row.wake_at,
  row.asked_id,
  row.worker_id,
  row.epoch,
  row.lease_until,
  row.lease_at,
  row.delta_low,
  row.pruned,
  row.saga,
  row.provisional,
  row.unpriced,
]

/** True if only the GROWING columns differ. */
export function onlyGrew(before: Moving, after: Moving): boolean {
  for (let at = GROWING.length; at < after.length; at++) if (before[at] !== after[at]) return false
  return true
}

declare const fixed: unique symbol
/** The constant start of a packed session, shared by all of its commits. */
export type FixedText = string & { readonly [fixed]: true }
export const packFixed = (row: StoredSession): FixedText =>
  JSON.stringify(FIXED.map(name => row[name])).slice(0, -1) as FixedText

declare const packed: unique symbol
export type PackedSession = string & { readonly [packed]: true }
export function packSession(start: FixedText, row: StoredSession): PackedSession {
  const values: (string | number | null)[] = movingOf(row)
  values.push(row.waiting)
  return `${start},${JSON.stringify(values).slice(1)}` as PackedSession
}

const CROSSING = [...FIXED, ...MOVING, 'waiting'] as const
export function unpackSession(text: PackedSession | undefined): StoredSession {
  if (text === undefined) throw new Error('[commit] the answer came without its session')
  const values = JSON.parse(text) as unknown[]
  return {
    ...Object.fromEntries(CROSSING.map((name, at) => [name, values[at]])),
    recent: '',
  } as StoredSession
}
