/** SQL for the rows of sessions: lock, read, write. */
import { waitingSql, type StoredSession } from '../engine/session-rows.ts'
import type { NewSession } from '../session.ts'
import type { Rows, Statement, Value } from './connections.ts'

/** In key order, so that two processes cannot deadlock. */
export const LOCK_SESSIONS: Statement = {
  name: 'lock_sessions',
  text: 'SELECT * FROM sessions WHERE id = ANY($1::text[]) ORDER BY key FOR UPDATE',
}

/** Inserts nothing if the id is taken. */
export const CREATE_SESSION: Statement = {
  name: 'create_session',
  text: `
    INSERT INTO sessions (id, org_id, created_by, created_by_kind, agent, channel, status, title, model,
      parent_id, config, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, 'active', $7, $8, $9, $10, $11, $11)
    ON CONFLICT (id) DO NOTHING
    RETURNING *`,
}
export const createSessionValues = (
  { session, config }: { session: NewSession; config: string },
  at: number,
): Value[] => [
  session.id,
  session.org_id,
  session.created_by,
  session.created_by_kind,
  session.agent,
  session.channel,
  session.title ?? null,
  session.model ?? null,
  session.parent_id ?? null,
  config,
  at,
]

/**
 * A separate statement after the lock: a statement that waits for a lock sees the other tables as they were
 * before.
 */
export const PENDING_OF_SESSIONS: Statement = {
  name: 'pending_of_sessions',
  text: `
    SELECT s.key, (${waitingSql('s.key', '$2::bigint')}) AS waiting
    FROM sessions s
    WHERE s.id = ANY($1::text[])
      AND EXISTS (SELECT FROM inbox_items i WHERE i.session_key = s.key AND i.status = 'pending')`,
}

export const WAITING: Statement = {
  name: 'waiting',
  text: `SELECT (${waitingSql('$1::bigint', '$2::bigint')}) AS waiting`,
}

/** `$1` is the time that decides which pending items have expired. */
export const SELECT_SESSION = `SELECT s.*, (${waitingSql('s.key', '$1::bigint')}) AS waiting FROM sessions s`

/** SQLite's positions have no counterpart here: the primary key of the events table is their index. */
export const toStored = (row: Rows[number]): StoredSession =>
  ({ waiting: null, ...row, recent: '' }) as StoredSession

type Column = Exclude<
  keyof StoredSession,
  | 'recent'
  | 'waiting'
  | 'key'
  | 'id'
  | 'org_id'
  | 'created_by'
  | 'created_by_kind'
  | 'agent'
  | 'channel'
  | 'parent_id'
  | 'config'
  | 'created_at'
>
/** The columns that commits change. */
const COLUMNS: { [C in Column]: 'text' | 'bigint' | 'float8' } = {
  status: 'text',
  title: 'text',
  model: 'text',
  worker_id: 'text',
  cost_usd: 'float8',
  updated_at: 'bigint',
  last_id: 'bigint',
  message_count: 'bigint',
  tool_call_count: 'bigint',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
  cursor: 'bigint',
  wake_id: 'bigint',
  wake_at: 'bigint',
  asked_id: 'bigint',
  epoch: 'bigint',
  lease_until: 'bigint',
  lease_at: 'bigint',
  delta_low: 'bigint',
  pruned: 'bigint',
  saga: 'bigint',
  provisional: 'bigint',
  unpriced: 'bigint',
}
const NAMES = Object.keys(COLUMNS) as Column[]

/** Records and type names contain no line breaks, so each list travels as one value separated by them. */
const SEPARATOR = '\n'

export type NewEvents = { keys: number[]; ids: number[]; at: number[]; types: string[]; records: string[] }
export const noEvents = (): NewEvents => ({ keys: [], ids: [], at: [], types: [], records: [] })
export type Moved = { before: StoredSession; row: StoredSession }

/**
 * Writes every event and row of a batch in one statement. Rows are matched by the epoch and last id on which
 * the commits were decided; if these have changed, the statement fails and with it the batch.
 */
export const WRITE_BATCH: Statement = {
  name: 'write_batch',
  text: `
    WITH written AS (
      INSERT INTO events (session_key, id, at, type, json)
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], string_to_array($4, E'\\n'),
        string_to_array($5, E'\\n'))
    ), moved AS (
      UPDATE sessions s SET ${NAMES.map(name => `${name} = u.${name}`).join(', ')}
      FROM unnest($6::bigint[], $7::bigint[], $8::bigint[],
        ${NAMES.map((name, at) => `$${at + 9}::${COLUMNS[name]}[]`).join(', ')})
        AS u (key, was_epoch, was_last, ${NAMES.join(', ')})
      WHERE s.key = u.key AND s.epoch = u.was_epoch AND s.last_id = u.was_last
      RETURNING s.key
    )
    SELECT CASE WHEN count(*) = coalesce(array_length($6::bigint[], 1), 0) THEN 0
      ELSE ('a session changed under its lock: ' || count(*))::integer END
    FROM moved`,
}

export function writeBatchValues(
  { keys, ids, at, types, records }: NewEvents,
  moved: readonly Moved[],
): (string | (string | number | null)[])[] {
  return [
    list(keys),
    list(ids),
    list(at),
    types.join(SEPARATOR),
    records.join(SEPARATOR),
    list(moved.map(({ row }) => row.key)),
    list(moved.map(({ before }) => before.epoch)),
    list(moved.map(({ before }) => before.last_id)),
    ...NAMES.map(name =>
      COLUMNS[name] === 'text'
        ? moved.map(({ row }) => row[name])
        : list(moved.map(({ row }) => row[name] as number)),
    ),
  ]
}

/** Postgres array syntax; the driver would quote every number. */
const list = (numbers: readonly number[]): string => `{${numbers.join(',')}}`
