/**
 * Checks the integrity of the embedded store: the file itself, every log, and the rows of the resources
 * against the logs. For `cairn doctor`.
 */
import { checkLog, type LoggedRow } from '../engine/check-log.ts'
import type { StoredSession } from '../engine/session-rows.ts'
import { createChecks } from '../resources/index.ts'
import type { LostIds } from '../store.ts'
import type { Db } from './adapter.ts'
import { parsePositions } from './positions.ts'

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
  const settled = db.prepare(`
    SELECT e.id, e.type, e.json
    FROM event_positions p
    JOIN events e ON e.pos = p.pos AND e.org_key = p.org_key AND e.session_key = p.session_key AND e.id = p.id
    WHERE p.org_key = ? AND p.session_key = ?
    ORDER BY p.id`)
  const eventAt = db.prepare(`
    SELECT id, type, json FROM events WHERE pos = ? AND org_key = ? AND session_key = ?`)
  const lostIds = db.prepare(`
    SELECT after_id, last_id FROM lost_ids WHERE org_key = ? AND session_key = ?`)
  const { queries, checks } = createChecks()
  let found = 0
  function* logOf(session: StoredSession): Iterable<LoggedRow> {
    for (const row of settled.iterate(
      session.org_key,
      session.key,
    ) as Iterable<unknown> as Iterable<LoggedRow>) {
      found += 1
      yield row
    }
    for (const pos of parsePositions(session.recent)) {
      const row = eventAt.get(pos, session.org_key, session.key) as LoggedRow | undefined
      if (row === undefined) continue
      found += 1
      yield row
    }
  }
  for (const session of db
    .prepare('SELECT * FROM sessions ORDER BY pos')
    .iterate() as Iterable<unknown> as Iterable<StoredSession>) {
    checkLog(
      session,
      logOf(session),
      what => problems.push(`session ${session.id}: ${what}`),
      checks,
      lostIds.all(session.org_key, session.key) as LostIds[],
    )
  }
  const { count } = db.prepare('SELECT count(*) AS count FROM events').get() as { count: number }
  if (count !== found) problems.push(`${count - found} events are in no log`)
  const rows = Object.fromEntries(
    Object.entries(queries).map(([name, query]) => [name, db.prepare(query).all()]),
  )
  for (const check of checks) problems.push(...check.problems(rows))
  db.exec('COMMIT')
  return problems
}
