/**
 * Checks the integrity of a store: the file itself, ids without gaps, counters against the fold of each log,
 * and links, tasks and timers against the logs. For `cairn doctor`.
 */
import { createLinkCheck, type LinkCheck } from './check-links.ts'
import { parsePositions } from './positions.ts'
import { applyEffect, effectOf, type Projected } from './projection.ts'
import type { StoredSession } from './session-rows.ts'
import type { Db } from './sqlite-adapter.ts'
import type { LostIds } from './store.ts'
import type { EventType } from '@cairn/protocol'

export type LoggedRow = { id: number; type: EventType; json: string }
export type Problem = (what: string) => void

const FOLDED = [
  'message_count',
  'tool_call_count',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'wake_id',
  'asked_id',
  'saga',
  'provisional',
  'unpriced',
] as const

function checkRecord(sessionId: string, row: LoggedRow, problem: Problem): Record<string, unknown> {
  try {
    const record = JSON.parse(row.json) as {
      id: unknown
      session_id: unknown
      type: unknown
      data: Record<string, unknown>
    }
    if (record.id !== row.id || record.session_id !== sessionId || record.type !== row.type)
      problem(`event ${row.id} holds the record of another event`)
    return record.data
  } catch {
    problem(`event ${row.id} is not JSON`)
    return {}
  }
}

/**
 * Checks that a log is complete and that its session's row is the fold of it. Only superseded llm.delta rows
 * are ever deleted from a log, so missing records count as pruned and must precede a response.
 */
export function checkLog(
  session: StoredSession,
  rows: Iterable<LoggedRow>,
  problem: Problem,
  links: LinkCheck,
  lost: readonly LostIds[] = [],
): void {
  /** Ids between two records that were lost, and the id that was skipped after them. */
  const lostBetween = (after: number, before: number): number =>
    lost
      .filter(({ after_id, last_id }) => after_id >= after && last_id < before)
      .reduce((sum, { after_id, last_id }) => sum + last_id + 1 - after_id, 0)
  const fold: Projected = {
    status: 'active',
    title: null,
    provisional: 0,
    message_count: 0,
    tool_call_count: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    unpriced: 0,
    wake_id: 0,
    asked_id: 0,
    saga: 0,
  }
  links.begin(session.id)
  let last = 0
  let missing = 0
  let uncovered: number | null = null
  for (const row of rows) {
    const gap = row.id === last + 1 ? 0 : row.id - last - 1 - lostBetween(last, row.id)
    if (gap !== 0) {
      missing += gap
      uncovered ??= last + 1
    }
    last = row.id
    if (row.type === 'llm.response') uncovered = null
    if (row.type === 'llm.delta' && (session.delta_low === 0 || row.id < session.delta_low))
      problem(`event ${row.id} is an llm.delta that pruning would never find`)
    const data = checkRecord(session.id, row, problem)
    links.see(session.id, row.id, row.type, data)
    const effect = effectOf(row.type, data)
    if (effect !== null) applyEffect(fold, row.id, effect)
  }
  if (last + lostBetween(last, Infinity) !== session.last_id)
    problem(`its last event is ${last}, its row says ${session.last_id}`)
  if (missing !== session.pruned) problem(`${missing} events are missing, ${session.pruned} were pruned`)
  if (uncovered !== null) problem(`event ${uncovered} is missing, and no llm.response follows it`)
  for (const column of FOLDED)
    if (fold[column] !== session[column])
      problem(`${column} is ${session[column]}, its log says ${fold[column]}`)
}

export function checkStore(db: Db): string[] {
  const problems: string[] = []
  // One snapshot, unaffected by concurrent writes.
  db.exec('BEGIN')
  for (const row of db.prepare('PRAGMA integrity_check').all())
    if (row['integrity_check'] !== 'ok')
      problems.push(`the database file is damaged: ${String(row['integrity_check'])}`)
  for (const row of db.prepare('PRAGMA foreign_key_check').all())
    problems.push(
      `row ${String(row['rowid'])} of ${String(row['table'])} names a row of ${String(row['parent'])} ` +
        'that is not there',
    )
  const settled = db.prepare(
    'SELECT e.id, e.type, e.json FROM event_positions p JOIN events e ON e.pos = p.pos AND ' +
      'e.session_key = p.session_key AND e.id = p.id WHERE p.session_key = ? ORDER BY p.id',
  )
  const eventAt = db.prepare('SELECT id, type, json FROM events WHERE pos = ? AND session_key = ?')
  const lostIds = db.prepare('SELECT after_id, last_id FROM lost_ids WHERE session_key = ?')
  const links = createLinkCheck()
  let found = 0
  function* logOf(session: StoredSession): Iterable<LoggedRow> {
    for (const row of settled.iterate(session.key) as Iterable<unknown> as Iterable<LoggedRow>) {
      found += 1
      yield row
    }
    for (const pos of parsePositions(session.recent)) {
      const row = eventAt.get(pos, session.key) as LoggedRow | undefined
      if (row === undefined) continue
      found += 1
      yield row
    }
  }
  for (const session of db
    .prepare('SELECT * FROM sessions ORDER BY key')
    .iterate() as Iterable<unknown> as Iterable<StoredSession>) {
    checkLog(
      session,
      logOf(session),
      what => problems.push(`session ${session.id}: ${what}`),
      links,
      lostIds.all(session.key) as LostIds[],
    )
  }
  const { count } = db.prepare('SELECT count(*) AS count FROM events').get() as { count: number }
  if (count !== found) problems.push(`${count - found} events are in no log`)
  for (const row of db
    .prepare(
      'SELECT i.id, i.source_event_id FROM inbox_items i JOIN sessions s ON s.key = i.session_key ' +
        'WHERE i.source_event_id NOT BETWEEN 1 AND s.last_id',
    )
    .all()) {
    problems.push(
      `inbox item ${String(row['id'])} names event ${String(row['source_event_id'])}, which its ` +
        'session does not have',
    )
  }
  const all = <T>(table: string): T[] => db.prepare(`SELECT * FROM ${table}`).all() as unknown[] as T[]
  problems.push(...links.problems({ links: all('links'), tasks: all('tasks'), timers: all('timers') }))
  db.exec('COMMIT')
  return problems
}
