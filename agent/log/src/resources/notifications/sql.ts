/** The statements of notifications, identical for both stores, one statement each. Callers supply the time. */

import { orgOfUser } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'

/** Web Push covers what needs an answer, in the person's own sessions, whatever the other methods cover. */
const PUSHED = `
  i.kind IN ('input_required', 'action_required', 'governance_gate') AND i.created_by = w.user_id`
/** A person's first browser that subscribed. Null: Web Push is off. */
const PUSH_SINCE = `
  (SELECT min(p.created_at) FROM push_subscriptions p WHERE p.org_key = w.org_key AND p.user_id = w.user_id)`

/**
 * Open items that require a notification and have none planned: the person, the method, and when it is due.
 * Kinds are stored as JSON, so each is enclosed in quotation marks.
 */
const FRESH = `
  SELECT i.id AS item_id, w.user_id, v.way, i.created_at + w.after_ms AS due_at
  FROM notification_settings w
  JOIN users u ON u.id = w.user_id
  JOIN inbox_items i ON i.org_key = w.org_key
  CROSS JOIN (SELECT 'webhook' AS way UNION ALL SELECT 'mail' AS way UNION ALL SELECT 'push' AS way) v
  WHERE u.disabled_at IS NULL AND i.status = 'pending' AND (i.expires_at IS NULL OR i.expires_at > $1)
    AND CASE v.way WHEN 'push' THEN ${PUSHED}
      ELSE w.kinds LIKE '%"' || i.kind || '"%' AND (i.created_by = w.user_id OR (w.scope = 'org' AND u.admin)) END
    AND i.created_at >= CASE v.way WHEN 'webhook' THEN w.webhook_since WHEN 'push' THEN ${PUSH_SINCE}
      ELSE w.mail_since END
    AND NOT EXISTS (SELECT 1 FROM notifications n
      WHERE n.org_key = w.org_key AND n.user_id = w.user_id AND n.way = v.way AND n.about = i.id)
  ORDER BY i.created_at, i.id
  LIMIT $2`

/** Only the holder of the lease may update a notification. */
const FENCED = `
  EXISTS (SELECT 1 FROM channel_leases l WHERE l.connection_id = $3 AND l.role = 'deliver' AND l.epoch = $4)`

const OF_USER = `org_key = ${orgOfUser('$1')} AND user_id = $1`
/** `$1` is its id, `$2` its user. */
const THE_NOTIFICATION = `org_key = ${orgOfUser('$2')} AND id = $1 AND user_id = $2`

const TEXT = {
  notificationSettings: `SELECT * FROM notification_settings WHERE ${OF_USER}`,
  putNotificationChoice: `
    INSERT INTO notification_settings (org_key, user_id, org_id, scope, kinds, after_ms)
    SELECT org_key, $1, id, $3, $4, CAST($5 AS BIGINT) FROM organisations WHERE id = $2
    ON CONFLICT (org_key, user_id) DO UPDATE SET scope = excluded.scope, kinds = excluded.kinds,
      after_ms = excluded.after_ms`,
  setNotificationWebhook: `
    UPDATE notification_settings SET webhook_url = $2, webhook_secret = $3, webhook_since = $4 WHERE ${OF_USER}`,
  setNotificationMail: `
    UPDATE notification_settings
    SET mail_address = $2, mail_code = $3, mail_code_until = $4, mail_tries = 0, mail_since = NULL
    WHERE ${OF_USER}`,
  tryMailCode: `
    UPDATE notification_settings
    SET mail_tries = mail_tries + 1
    WHERE ${OF_USER} AND mail_code IS NOT NULL AND mail_code_until > $2 AND mail_tries < $3
    RETURNING mail_code`,
  confirmNotificationMail: `
    UPDATE notification_settings
    SET mail_since = $3, mail_code = NULL, mail_code_until = NULL
    WHERE ${OF_USER} AND mail_code = $2
    RETURNING user_id`,
  freshNotifications: FRESH,
  planNotification: `
    INSERT INTO notifications (org_key, id, user_id, way, about, state, next_at, created_at, updated_at)
    SELECT o.org_key, $1, $2, $3, $4, 'due', CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($6 AS BIGINT)
    FROM users u JOIN organisations o ON o.id = u.org_id WHERE u.id = $2
    ON CONFLICT (org_key, user_id, way, about) DO NOTHING`,
  dueNotifications: `
    SELECT *
    FROM notifications
    WHERE state IN ('due', 'sending') AND next_at <= $1
    ORDER BY next_at, created_at, id
    LIMIT $2`,
  // The attempts are unchanged since it was read: an attempt in between has set a later time.
  beginNotification: `
    UPDATE notifications
    SET state = 'sending', attempts = attempts + 1, updated_at = $5
    WHERE ${THE_NOTIFICATION} AND attempts = $6 AND next_at <= $5 AND state IN ('due', 'sending') AND ${FENCED}
    RETURNING id`,
  settleNotification: `
    UPDATE notifications
    SET state = $5, next_at = $6, error = $7, updated_at = $8
    WHERE ${THE_NOTIFICATION} AND state IN ('due', 'sending') AND ${FENCED}
    RETURNING id`,
  // Restarts with the first attempt, under the same id.
  redoNotification: `
    UPDATE notifications
    SET state = 'due', attempts = 0, next_at = $3, error = NULL, updated_at = $3
    WHERE ${THE_NOTIFICATION} AND state = 'dead'
    RETURNING id`,
  sentNotifications: `
    SELECT count(*) AS count, min(updated_at) AS oldest
    FROM notifications
    WHERE ${OF_USER} AND way = $2 AND state = 'sent' AND updated_at > $3`,
  notificationsOf: `SELECT * FROM notifications WHERE ${OF_USER} ORDER BY created_at DESC, id LIMIT $2`,
  // Keeps those about open items: otherwise they would be planned again.
  pruneNotifications: `
    DELETE FROM notifications
    WHERE state IN ('sent', 'dead', 'withdrawn')
      AND updated_at <= $1
      AND NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.org_key = notifications.org_key AND i.id = notifications.about AND i.status = 'pending')`,
} as const

export type NotificationStatement = keyof typeof TEXT

export const NOTIFICATION_SQL: NamedSql<NotificationStatement> = {
  prefix: 'notification',
  text: TEXT,
  reads: [
    'notificationSettings',
    'freshNotifications',
    'dueNotifications',
    'sentNotifications',
    'notificationsOf',
  ],
}
