/** SQL for the rows of sessions: lock, read, write. */
import { addOrganisation, makeKey } from '../engine/directory.ts'
import type { Ask } from '../engine/resource.ts'
import { waitingSql, type StoredSession } from '../engine/session-rows.ts'
import type { NewSession } from '../session.ts'
import type { Rows, Statement } from './connections.ts'

/** In key order, so that two processes cannot deadlock. */
export const LOCK_SESSIONS: Statement = {
  name: 'lock_sessions',
  text: `
    SELECT s.* FROM directory d JOIN sessions s ON s.org_key = d.org_key AND s.key = d.key
    WHERE d.kind = 'session' AND d.id = ANY($1::text[])
    ORDER BY s.org_key, s.key FOR UPDATE OF s`,
}

/**
 * Inserts nothing if the id is taken, or if another process has just taken the key: then it is repeated with
 * another one.
 */
const CREATE_SESSION: Statement = {
  name: 'create_session',
  text: `
    WITH entry AS (
      INSERT INTO directory (kind, id, org_key, key)
      SELECT 'session', $1, o.org_key, greatest($12::bigint,
        (SELECT coalesce(max(s.key), 0) + 1 FROM sessions s WHERE s.org_key = o.org_key))
      FROM organisations o WHERE o.id = $2
      ON CONFLICT DO NOTHING
      RETURNING org_key, key
    )
    INSERT INTO sessions (org_key, key, id, org_id, created_by, created_by_kind, agent, channel, status, title,
      model, parent_id, config, created_at, updated_at)
    SELECT org_key, key, $1, $2, $3, $4, $5, $6, 'active', $7, $8, $9, $10, $11::bigint, $11::bigint FROM entry
    RETURNING *`,
}
const FIND_SESSION: Statement = {
  name: 'find_session',
  text: `SELECT 1 AS found FROM directory WHERE kind = 'session' AND id = $1`,
}
const FIND_ORGANISATION: Statement = {
  name: 'find_organisation',
  text: `SELECT org_key FROM organisations WHERE id = $1`,
}
const ADD_ORGANISATION: Statement = {
  name: 'add_organisation',
  text: addOrganisation('$1', '$1', '$2::bigint'),
}

/** The new row; null if the id is taken. Creates the organisation if the store does not have it. */
export async function insertSession(
  ask: Ask,
  { session, config }: { session: NewSession; config: string },
  at: number,
): Promise<StoredSession | null> {
  for (;;) {
    const [row] = await ask(CREATE_SESSION, [
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
      makeKey(at),
    ])
    if (row !== undefined) return toStored(row)
    if ((await ask(FIND_SESSION, [session.id])).length > 0) return null
    if ((await ask(FIND_ORGANISATION, [session.org_id])).length === 0)
      await ask(ADD_ORGANISATION, [session.org_id, at])
  }
}

/**
 * A separate statement after the lock: a statement that waits for a lock sees the other tables as they were
 * before.
 */
export const PENDING_OF_SESSIONS: Statement = {
  name: 'pending_of_sessions',
  text: `
    SELECT d.id, (${waitingSql('d.org_key', 'd.key', '$2::bigint')}) AS waiting
    FROM directory d
    WHERE d.kind = 'session' AND d.id = ANY($1::text[])
      AND EXISTS (SELECT FROM inbox_items i
        WHERE i.org_key = d.org_key AND i.session_key = d.key AND i.status = 'pending')`,
}

export const WAITING: Statement = {
  name: 'waiting',
  text: `SELECT (${waitingSql('$1::integer', '$2::bigint', '$3::bigint')}) AS waiting`,
}

/** `$1` is the time that decides which pending items have expired. */
export const SELECT_SESSION = `
  SELECT s.*, (${waitingSql('s.org_key', 's.key', '$1::bigint')}) AS waiting FROM sessions s`

/** SQLite's positions have no counterpart here: the primary key of the events table is their index. */
export const toStored = (row: Rows[number]): StoredSession =>
  ({ waiting: null, ...row, recent: '' }) as StoredSession

type Column = Exclude<
  keyof StoredSession,
  | 'recent'
  | 'waiting'
  | 'org_key'
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

export type NewEvents = {
  orgs: number[]
  keys: number[]
  ids: number[]
  at: number[]
  types: string[]
  records: string[]
}
export const noEvents = (): NewEvents => ({ orgs: [], keys: [], ids: [], at: [], types: [], records: [] })
export type Moved = { before: StoredSession; row: StoredSession }

/**
 * Writes every event and row of a batch in one statement. Rows are matched by the epoch and last id on which
 * the commits were decided; if these have changed, the statement fails and with it the batch.
 */
export const WRITE_BATCH: Statement = {
  name: 'write_batch',
  text: `
    WITH written AS (
      INSERT INTO events (org_key, session_key, id, at, type, json)
      SELECT * FROM unnest($9::integer[], $1::bigint[], $2::bigint[], $3::bigint[],
        string_to_array($4, E'\\n'), string_to_array($5, E'\\n'))
    ), moved AS (
      UPDATE sessions s SET ${NAMES.map(name => `${name} = u.${name}`).join(', ')}
      FROM unnest($6::bigint[], $7::bigint[], $8::bigint[], $10::integer[],
        ${NAMES.map((name, at) => `$${at + 11}::${COLUMNS[name]}[]`).join(', ')})
        AS u (key, was_epoch, was_last, org_key, ${NAMES.join(', ')})
      WHERE s.org_key = u.org_key AND s.key = u.key AND s.epoch = u.was_epoch AND s.last_id = u.was_last
      RETURNING s.key
    )
    SELECT CASE WHEN count(*) = coalesce(array_length($6::bigint[], 1), 0) THEN 0
      ELSE ('a session changed under its lock: ' || count(*))::integer END
    FROM moved`,
}

export function writeBatchValues(
  { orgs, keys, ids, at, types, records }: NewEvents,
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
    list(orgs),
    list(moved.map(({ row }) => row.org_key)),
    ...NAMES.map(name =>
      COLUMNS[name] === 'text'
        ? moved.map(({ row }) => row[name])
        : list(moved.map(({ row }) => row[name] as number)),
    ),
  ]
}

/** Postgres array syntax; the driver would quote every number. */
const list = (numbers: readonly number[]): string => `{${numbers.join(',')}}`
