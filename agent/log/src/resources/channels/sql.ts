/**
 * The statements of channels, identical for both stores, one statement each. Callers supply the time.
 */
import { orgNamed, orgOf, orgOfUser } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'
import { CONNECTION_READS, CONNECTION_SQL, OF_CONNECTION, THE_CONNECTION } from './connections-sql.ts'
import { DELIVERY_READS, DELIVERY_SQL, fenced, OF_SESSION } from './deliveries-sql.ts'

const TEXT = {
  ...CONNECTION_SQL,
  ...DELIVERY_SQL,

  countReceived: `
    UPDATE channel_connections SET inbound_seq = inbound_seq + 1 WHERE ${THE_CONNECTION} RETURNING inbound_seq`,
  receive: `
    INSERT INTO channel_inbound (org_key, connection_id, seq, event_key, conversation_key, sender, body,
      received_at, state)
    SELECT org_key, id, CAST($7 AS BIGINT), $2, $3, $4, $5, CAST($6 AS BIGINT), 'received'
    FROM channel_connections WHERE ${THE_CONNECTION}
    ON CONFLICT (org_key, connection_id, event_key) DO NOTHING
    RETURNING seq`,
  nextInbound: `
    SELECT * FROM channel_inbound i
    WHERE i.org_key = ${orgOf('connection', '$1')} AND i.connection_id = $1 AND i.state = 'received'
      AND i.next_at <= $2
      AND NOT EXISTS (SELECT 1 FROM channel_inbound e
        WHERE e.org_key = i.org_key AND e.connection_id = i.connection_id
          AND e.conversation_key = i.conversation_key AND e.state = 'received' AND e.seq < i.seq)
    ORDER BY i.seq
    LIMIT $3`,
  inbound: `SELECT * FROM channel_inbound WHERE ${OF_CONNECTION} AND seq = $2`,
  inboundOf: `SELECT * FROM channel_inbound WHERE ${OF_CONNECTION} AND event_key = $2`,
  waitingInbound: `
    SELECT * FROM channel_inbound
    WHERE ${OF_CONNECTION} AND conversation_key = $2 AND state = 'received'
    ORDER BY seq
    LIMIT $3`,
  deferInbound: `
    UPDATE channel_inbound SET next_at = $3 WHERE ${OF_CONNECTION} AND seq = $2 AND state = 'received'`,
  dropInbound: `
    UPDATE channel_inbound SET state = 'dropped', reason = $3
    WHERE ${OF_CONNECTION} AND seq = $2 AND state = 'received'`,
  retryInbound: `
    UPDATE channel_inbound SET attempts = attempts + 1, next_at = $3, reason = $4
    WHERE ${OF_CONNECTION} AND seq = $2 AND state = 'received'`,
  acceptInbound: `
    UPDATE channel_inbound SET state = 'accepted', reason = NULL, session_id = $3, event_id = $4
    WHERE ${OF_CONNECTION} AND seq = $2 AND state = 'received'
    RETURNING seq`,
  countInbound: `
    SELECT count(*) AS count
    FROM channel_inbound
    WHERE ${OF_CONNECTION} AND sender = $2 AND received_at > $3 AND seq <= $4`,
  lastInbound: `
    SELECT *
    FROM channel_inbound
    WHERE ${OF_CONNECTION} AND sender = $2 AND conversation_key = $3 AND seq < $4 AND state = 'accepted'
    ORDER BY seq DESC
    LIMIT 1`,
  pruneInbound: `DELETE FROM channel_inbound WHERE state <> 'received' AND received_at <= $1`,

  seeSender: `
    INSERT INTO channel_senders (org_key, connection_id, platform_user_id, name, last_seen_at)
    SELECT org_key, id, $2, $3, CAST($4 AS BIGINT) FROM directory WHERE kind = 'connection' AND id = $1
    ON CONFLICT (org_key, connection_id, platform_user_id) DO UPDATE
    SET name = coalesce(excluded.name, channel_senders.name), last_seen_at = excluded.last_seen_at
    RETURNING *`,
  senders: `
    SELECT s.*,
      (SELECT max(i.user_id)
       FROM channel_connections c JOIN channel_identities i ON i.org_key = c.org_key AND i.platform = c.platform
       WHERE c.org_key = s.org_key AND c.id = s.connection_id
         AND i.platform_user_id = s.platform_user_id) AS user_id
    FROM channel_senders s
    WHERE s.org_key = ${orgOf('connection', '$1')} AND s.connection_id = $1
    ORDER BY s.last_seen_at DESC
    LIMIT $2`,
  judgeSender: `
    UPDATE channel_senders
    SET verdict = $3, told_at = NULL
    WHERE ${OF_CONNECTION} AND platform_user_id = $2
    RETURNING platform_user_id`,
  tellSender: `
    UPDATE channel_senders
    SET told_at = $3
    WHERE ${OF_CONNECTION} AND platform_user_id = $2 AND (told_at IS NULL OR told_at <= $4)
    RETURNING platform_user_id`,
  countWrongCode: `
    UPDATE channel_senders
    SET wrong_codes = CASE WHEN wrong_since <= $4 THEN 1 ELSE wrong_codes + 1 END,
      wrong_since = CASE WHEN wrong_since <= $4 THEN $3 ELSE wrong_since END
    WHERE ${OF_CONNECTION} AND platform_user_id = $2
    RETURNING wrong_codes`,

  identity: `
    SELECT * FROM channel_identities
    WHERE org_key = ${orgNamed('$1')} AND platform = $2 AND workspace = $3 AND platform_user_id = $4`,
  putIdentity: `
    INSERT INTO channel_identities (org_key, id, org_id, platform, workspace, platform_user_id, user_id,
      linked_at)
    SELECT org_key, $1, id, $3, $4, $5, $6, CAST($7 AS BIGINT) FROM organisations WHERE id = $2
    ON CONFLICT (org_key, platform, workspace, platform_user_id) DO UPDATE
    SET user_id = excluded.user_id, linked_at = excluded.linked_at`,
  identities: `
    SELECT * FROM channel_identities
    WHERE org_key = ${orgOfUser('$1')} AND user_id = $1
    ORDER BY linked_at, id`,
  deleteIdentity: `
    DELETE FROM channel_identities WHERE org_key = ${orgOfUser('$1')} AND user_id = $1 AND id = $2
    RETURNING id`,
  putPairing: `
    INSERT INTO channel_pairings (org_key, code_sha256, org_id, user_id, expires_at)
    SELECT org_key, $1, id, $3, CAST($4 AS BIGINT) FROM organisations WHERE id = $2
    ON CONFLICT (org_key, user_id) DO UPDATE
    SET code_sha256 = excluded.code_sha256, expires_at = excluded.expires_at, used_by = NULL`,
  usePairing: `
    UPDATE channel_pairings SET used_by = $3
    WHERE org_key = ${orgNamed('$1')} AND code_sha256 = $2
      AND ((used_by IS NULL AND expires_at > $4) OR used_by = $3)
    RETURNING user_id`,

  conversation: `
    SELECT *
    FROM channel_conversations
    WHERE ${OF_CONNECTION} AND key = $2
    ORDER BY generation DESC
    LIMIT 1`,
  conversationOf: `SELECT * FROM channel_conversations WHERE ${OF_SESSION}`,
  openConversation: `
    INSERT INTO channel_conversations (org_key, session_id, connection_id, key, generation, opened_by, target,
      language, created_at)
    SELECT org_key, $1, id, $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT), $6, $7, CAST($8 AS BIGINT)
    FROM directory
    WHERE kind = 'connection' AND id = $2 AND NOT EXISTS (SELECT 1 FROM channel_conversations c
      WHERE c.org_key = directory.org_key AND c.connection_id = $2 AND c.key = $3 AND c.opened_by = $5)
    ON CONFLICT DO NOTHING`,
  route: `
    UPDATE channel_conversations SET routed = 1
    WHERE ${OF_SESSION} AND NOT EXISTS (SELECT 1 FROM channel_conversations n
      WHERE n.org_key = channel_conversations.org_key
        AND n.connection_id = channel_conversations.connection_id AND n.key = channel_conversations.key
        AND n.generation > channel_conversations.generation)
    RETURNING session_id`,
  disclosed: `
    UPDATE channel_conversations
    SET disclosed_at = $2
    WHERE ${OF_SESSION} AND disclosed_at IS NULL
    RETURNING session_id`,
  dueConversations: `
    SELECT c.*, s.last_id, CASE WHEN s.wake_id > s.cursor THEN 1 ELSE 0 END AS running,
      CASE WHEN EXISTS (SELECT 1 FROM inbox_items i
        WHERE i.org_key = s.org_key AND i.session_key = s.key AND i.status = 'pending'
          AND i.kind IN ('input_required', 'action_required')) THEN 1 ELSE 0 END AS waiting
    FROM channel_conversations c
    JOIN directory d ON d.kind = 'session' AND d.id = c.session_id
    JOIN sessions s ON s.org_key = d.org_key AND s.key = d.key
    WHERE c.org_key = ${orgOf('connection', '$1')} AND c.connection_id = $1 AND c.routed = 1
      AND c.next_at <= $2 AND s.last_id > c.delivered_through AND c.session_id > $3
    ORDER BY c.session_id
    LIMIT $4`,
  retarget: `UPDATE channel_conversations SET target = $2 WHERE ${OF_SESSION}`,
  saveProgress: `
    UPDATE channel_conversations
    SET progress_message_id = $2
    WHERE ${OF_SESSION} AND ${fenced(3, 4)}`,
  releaseConversation: `UPDATE channel_conversations SET next_at = 0 WHERE ${OF_SESSION}`,
  releaseHeld: `UPDATE channel_deliveries SET next_at = 0 WHERE ${OF_SESSION} AND state = 'held'`,
  advance: `
    UPDATE channel_conversations
    SET delivered_through = $2, next_at = 0
    WHERE ${OF_SESSION} AND delivered_through < $2 AND ${fenced(3, 4)}`,
  postpone: `UPDATE channel_conversations SET next_at = $2 WHERE ${OF_SESSION} AND ${fenced(3, 4)}`,

  putPrompt: `
    INSERT INTO channel_prompts (org_key, id, session_id, kind, about, choices, event_id, part, item_id,
      shown_hash)
    SELECT org_key, $1, id, $3, $4, $5, CAST($6 AS BIGINT), CAST($7 AS BIGINT), $8, $9
    FROM directory WHERE kind = 'session' AND id = $2
    ON CONFLICT (org_key, id) DO NOTHING`,
  promptOfItem: `SELECT * FROM channel_prompts WHERE org_key = ${orgOf('item', '$1')} AND item_id = $1`,
  itemOf: `SELECT id FROM inbox_items WHERE ${OF_SESSION} AND source_event_id = $2`,
  prompt: `SELECT * FROM channel_prompts WHERE org_key = ${orgOf('connection', '$1')} AND id = $2`,
  closePrompts: `
    UPDATE channel_prompts
    SET closed_at = $3
    WHERE ${OF_SESSION} AND closed_at IS NULL AND (CAST($2 AS TEXT) IS NULL OR about = $2)`,

  putVisitor: `
    INSERT INTO channel_visitors (org_key, connection_id, token_sha256, subject, name, expires_at)
    SELECT org_key, id, $1, $3, $4, CAST($5 AS BIGINT) FROM directory WHERE kind = 'connection' AND id = $2
    ON CONFLICT (org_key, connection_id, token_sha256) DO NOTHING`,
  visitor: `SELECT * FROM channel_visitors WHERE ${OF_CONNECTION} AND token_sha256 = $2 AND expires_at > $3`,
  pruneVisitors: `DELETE FROM channel_visitors WHERE ${OF_CONNECTION} AND expires_at <= $2`,

  acquire: `
    INSERT INTO channel_leases (connection_id, role, holder, epoch, held_until)
    VALUES ($1, $2, $3, 1, $5)
    ON CONFLICT (connection_id, role) DO UPDATE
    SET epoch = CASE WHEN channel_leases.holder = excluded.holder THEN channel_leases.epoch
        ELSE channel_leases.epoch + 1 END,
      holder = excluded.holder, held_until = excluded.held_until
    WHERE channel_leases.holder = excluded.holder OR channel_leases.held_until <= $4
    RETURNING epoch`,
  release: `UPDATE channel_leases SET held_until = 0 WHERE connection_id = $1 AND role = $2 AND holder = $3`,
} as const satisfies Record<string, string>
export type ChannelStatement = keyof typeof TEXT

export const CHANNEL_SQL: NamedSql<ChannelStatement> = {
  prefix: 'channel',
  text: TEXT,
  reads: [
    ...CONNECTION_READS,
    ...DELIVERY_READS,
    'nextInbound',
    'waitingInbound',
    'lastInbound',
    'senders',
    'inbound',
    'inboundOf',
    'visitor',
    'countInbound',
    'identity',
    'identities',
    'conversation',
    'conversationOf',
    'dueConversations',
    'promptOfItem',
    'itemOf',
    'prompt',
  ],
}
