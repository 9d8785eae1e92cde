/**
 * Checks the integrity of a store on Postgres: every log, and the rows of the resources against the logs. For
 * `cairn doctor`.
 */
import { checkLog, type LoggedRow } from '../engine/check-log.ts'
import type { StoredSession } from '../engine/session-rows.ts'
import { createChecks } from '../resources/index.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { toStored } from './session-sql.ts'

const SESSIONS_PAGE = 200
const EVENTS_PAGE = 2000

const SESSIONS: Statement = {
  name: 'check_sessions',
  text: `
    SELECT * FROM sessions WHERE (org_key, key) > ($1::integer, $2::bigint)
    ORDER BY org_key, key LIMIT ${SESSIONS_PAGE}`,
}
const EVENTS: Statement = {
  name: 'check_events',
  text: `
    SELECT id, type, json FROM events WHERE org_key = $1 AND session_key = $2 AND id > $3
    ORDER BY id LIMIT ${EVENTS_PAGE}`,
}
const ORPHANS: Statement = {
  name: 'check_orphans',
  text: `
    SELECT count(*) AS count FROM events e
    WHERE NOT EXISTS (SELECT FROM sessions s WHERE s.org_key = e.org_key AND s.key = e.session_key)`,
}

export function checkStore(db: Database): Promise<string[]> {
  return db.transaction(
    'check',
    async ask => {
      const problems: string[] = []
      const { queries, checks } = createChecks()
      async function logOf(session: StoredSession): Promise<LoggedRow[]> {
        const rows: LoggedRow[] = []
        for (;;) {
          const page = (await ask(EVENTS, [
            session.org_key,
            session.key,
            rows.at(-1)?.id ?? 0,
          ])) as LoggedRow[]
          rows.push(...page)
          if (page.length < EVENTS_PAGE) return rows
        }
      }
      for (let after = { org_key: 0, key: 0 }; ;) {
        const page = (await ask(SESSIONS, [after.org_key, after.key])).map(toStored)
        for (const session of page)
          checkLog(
            session,
            await logOf(session),
            what => problems.push(`session ${session.id}: ${what}`),
            checks,
          )
        if (page.length < SESSIONS_PAGE) break
        after = page.at(-1) ?? after
      }
      const [orphans] = await ask(ORPHANS)
      if (Number(orphans?.['count']) > 0) problems.push(`${String(orphans?.['count'])} events are in no log`)
      const rows: Record<string, Rows> = {}
      for (const [name, text] of Object.entries(queries))
        rows[name] = await ask({ name: `check_${name}`, text })
      for (const check of checks) problems.push(...check.problems(rows))
      return problems
      // One snapshot, unaffected by concurrent writes.
    },
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  )
}
