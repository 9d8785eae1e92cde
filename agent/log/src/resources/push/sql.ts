/** The statements of Web Push, identical for both stores, one statement each. Callers supply the time. */
import { orgNamed, orgOfUser } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'

const OF_USER = `org_key = ${orgOfUser('$1')} AND user_id = $1`

const TEXT = {
  pushKey: `SELECT public_key, sealed FROM push_keys WHERE org_key = ${orgNamed('$1')}`,
  // Two processes may make a key at the same time: the first one is kept.
  addPushKey: `
    INSERT INTO push_keys (org_key, public_key, sealed, created_at)
    SELECT org_key, $2, $3, CAST($4 AS BIGINT) FROM organisations WHERE id = $1
    ON CONFLICT (org_key) DO NOTHING`,
  replacePushKey: `
    UPDATE push_keys SET public_key = $3, sealed = $4, created_at = $5
    WHERE org_key = ${orgNamed('$1')} AND public_key = $2
    RETURNING public_key`,
  pushSubscriptions: `SELECT id, sealed, created_at FROM push_subscriptions WHERE ${OF_USER} ORDER BY created_at, id`,
  addPushSubscription: `
    INSERT INTO push_subscriptions (org_key, user_id, id, sealed, created_at)
    SELECT o.org_key, $1, $2, $3, CAST($4 AS BIGINT)
    FROM users u JOIN organisations o ON o.id = u.org_id
    WHERE u.id = $1
      AND (EXISTS (SELECT 1 FROM push_subscriptions p
          WHERE p.org_key = o.org_key AND p.user_id = $1 AND p.id = $2)
        OR (SELECT count(*) FROM push_subscriptions p WHERE p.org_key = o.org_key AND p.user_id = $1) < $5)
    ON CONFLICT (org_key, user_id, id) DO UPDATE SET sealed = excluded.sealed
    RETURNING id`,
  removePushSubscription: `DELETE FROM push_subscriptions WHERE ${OF_USER} AND id = $2 RETURNING id`,
  removePushSubscriptions: `DELETE FROM push_subscriptions WHERE org_key = ${orgNamed('$1')}`,
} as const

export type PushStatement = keyof typeof TEXT

export const PUSH_SQL: NamedSql<PushStatement> = {
  prefix: 'push',
  text: TEXT,
  reads: ['pushKey', 'pushSubscriptions'],
}
