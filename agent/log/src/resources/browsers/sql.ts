/** The statements of browsers, identical for both stores, one statement each. Callers supply the time. */
import { orgOf } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'

const OF_SESSION = `org_key = ${orgOf('session', '$1')} AND session_id = $1`

const TEXT = {
  browser: `SELECT * FROM browser_instances WHERE ${OF_SESSION} AND browser_id IS NOT NULL`,
  silentBrowsers: `
    SELECT *
    FROM browser_instances
    WHERE browser_id IS NOT NULL AND alive_until <= $1
    ORDER BY alive_until
    LIMIT 100`,
  renewBrowsers: `
    UPDATE browser_instances SET alive_until = $2 WHERE worker_id = $1 AND browser_id IS NOT NULL`,
  extendControl: `
    UPDATE browser_instances
    SET control_until = $4
    WHERE ${OF_SESSION} AND browser_id = $2 AND holder_user_id = $3
    RETURNING session_id`,
  openBrowser: `
    INSERT INTO browser_instances (org_key, session_id, browser_id, worker_id, alive_until, created_at)
    SELECT org_key, id, $2, $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT)
    FROM directory WHERE kind = 'session' AND id = $1
    ON CONFLICT (org_key, session_id) DO UPDATE SET browser_id = excluded.browser_id, worker_id = excluded.worker_id,
      alive_until = excluded.alive_until, created_at = excluded.created_at
    WHERE browser_instances.browser_id IS NULL
    RETURNING session_id`,
  controlBrowser: `
    UPDATE browser_instances
    SET holder_user_id = nullif($4, ''), held_since = $5, control_until = $6
    WHERE ${OF_SESSION} AND browser_id = $2 AND coalesce(holder_user_id, '') = $3
    RETURNING session_id`,
  closeBrowser: `
    UPDATE browser_instances
    SET browser_id = NULL, worker_id = NULL, holder_user_id = NULL, held_since = NULL, control_until = NULL
    WHERE ${OF_SESSION} AND browser_id = $2 AND coalesce(holder_user_id, '') = $3
    RETURNING session_id`,
  keepBrowserState: `UPDATE browser_instances SET sealed_state = $2, state_until = $3 WHERE ${OF_SESSION}`,
  browserState: `SELECT sealed_state FROM browser_instances WHERE ${OF_SESSION} AND state_until > $2`,
} as const

export type BrowserStatement = keyof typeof TEXT

export const BROWSER_SQL: NamedSql<BrowserStatement> = {
  prefix: 'browser',
  text: TEXT,
  reads: ['browser', 'silentBrowsers', 'browserState'],
}
