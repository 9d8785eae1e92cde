/**
 * Checks the integrity of a store on Postgres: ids without gaps, counters against the fold of each log, and
 * links, tasks and timers against the logs. For `cairn doctor`.
 */
import { checkLog, type LoggedRow } from '../check.ts'
import { createLinkCheck } from '../check-links.ts'
import type { StoredLink, StoredTimer } from '../links.ts'
import type { StoredSession } from '../session-rows.ts'
import type { StoredTask } from '../tasks.ts'
import type { Database, Statement } from './connections.ts'
import { toStored } from './session-sql.ts'

const SESSIONS_PAGE = 200
const EVENTS_PAGE = 2000

const SESSIONS: Statement = {
  name: 'check_sessions',
  text: `SELECT * FROM sessions WHERE key > $1 ORDER BY key LIMIT ${SESSIONS_PAGE}`,
}
const EVENTS: Statement = {
  name: 'check_events',
  text:
    'SELECT id, type, json FROM events WHERE session_key = $1 AND id > $2 ORDER BY id LIMIT ' +
    `${EVENTS_PAGE}`,
}
const ORPHANS: Statement = {
  name: 'check_orphans',
  text:
    'SELECT count(*) AS count FROM events e WHERE NOT EXISTS (SELECT FROM sessions s WHERE s.key = ' +
    'e.session_key)',
}
const ITEMS: Statement = {
  name: 'check_items',
  text:
    'SELECT i.id, i.source_event_id FROM inbox_items i JOIN sessions s ON s.key = i.session_key WHERE ' +
    'i.source_event_id NOT BETWEEN 1 AND s.last_id',
}

const table = (name: string): Statement => ({ name: `check_${name}`, text: `SELECT * FROM ${name}` })

export function checkStore(db: Database): Promise<string[]> {
  return db.transaction(
    'check',
    async ask => {
      const problems: string[] = []
      const links = createLinkCheck()
      async function logOf(session: StoredSession): Promise<LoggedRow[]> {
        const rows: LoggedRow[] = []
        for (;;) {
          const page = (await ask(EVENTS, [session.key, rows.at(-1)?.id ?? 0])) as LoggedRow[]
          rows.push(...page)
          if (page.length < EVENTS_PAGE) return rows
        }
      }
      for (let after = 0; ;) {
        const page = (await ask(SESSIONS, [after])).map(toStored)
        for (const session of page)
          checkLog(
            session,
            await logOf(session),
            what => problems.push(`session ${session.id}: ${what}`),
            links,
          )
        if (page.length < SESSIONS_PAGE) break
        after = page.at(-1)?.key ?? after
      }
      const [orphans] = await ask(ORPHANS)
      if (Number(orphans?.['count']) > 0) problems.push(`${String(orphans?.['count'])} events are in no log`)
      for (const row of await ask(ITEMS))
        problems.push(
          `inbox item ${String(row['id'])} names event ${String(row['source_event_id'])}, which its ` +
            'session does not have',
        )
      problems.push(
        ...links.problems({
          links: (await ask(table('links'))) as StoredLink[],
          tasks: (await ask(table('tasks'))) as StoredTask[],
          timers: (await ask(table('timers'))) as StoredTimer[],
        }),
      )
      return problems
      // One snapshot, unaffected by concurrent writes.
    },
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  )
}
