/** The statements of browsers, identical for both stores, one statement each. Callers supply the time. */
import type { NamedSql } from '../../engine/resource.ts'

const TEXT = {
  browser: 'SELECT * FROM browser_instances WHERE session_id = $1 AND browser_id IS NOT NULL',
  silentBrowsers: `
    SELECT *
    FROM browser_instances
    WHERE browser_id IS NOT NULL AND alive_until <= $1
    ORDER BY alive_until
    LIMIT 100`,
  renewBrowsers:
    'UPDATE browser_instances SET alive_until = $2 WHERE worker_id = $1 AND browser_id IS NOT NULL',
  extendControl: `
    UPDATE browser_instances
    SET control_until = $4
    WHERE session_id = $1 AND browser_id = $2 AND holder_user_id = $3
    RETURNING session_id`,
  openBrowser: `
    INSERT INTO browser_instances (session_id, browser_id, worker_id, alive_until, created_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (session_id) DO UPDATE SET browser_id = excluded.browser_id, worker_id = excluded.worker_id,
      alive_until = excluded.alive_until, created_at = excluded.created_at
    WHERE browser_instances.browser_id IS NULL
    RETURNING session_id`,
  controlBrowser: `
    UPDATE browser_instances
    SET holder_user_id = nullif($4, ''), held_since = $5, control_until = $6
    WHERE session_id = $1 AND browser_id = $2 AND coalesce(holder_user_id, '') = $3
    RETURNING session_id`,
  closeBrowser: `
    UPDATE browser_instances
    SET browser_id = NULL, worker_id = NULL, holder_user_id = NULL, held_since = NULL, control_until = NULL
    WHERE session_id = $1 AND browser_id = $2 AND coalesce(holder_user_id, '') = $3
    RETURNING session_id`,
  keepBrowserState: 'UPDATE browser_instances SET sealed_state = $2, state_until = $3 WHERE session_id = $1',
  browserState: 'SELECT sealed_state FROM browser_instances WHERE session_id = $1 AND state_until > $2',
} as const

export type BrowserStatement = keyof typeof TEXT

export const BROWSER_SQL: NamedSql<BrowserStatement> = {
  prefix: 'browser',
  text: TEXT,
  reads: ['browser', 'silentBrowsers', 'browserState'],
}
