/**
 * The statements of channels, identical for both stores. Each operation is one statement, so that
 * processes sharing a database need no lock between them. Callers supply the time.
 */
import type { NamedSql } from '../../engine/resource.ts'
import { CONNECTION_READS, CONNECTION_SQL } from './connections-sql.ts'

/** Only the holder of the lease may write. The parameters are those of the connection and of the epoch. */
const fenced = (connection: number, epoch: number): string =>
  `EXISTS (SELECT 1 FROM channel_leases l
      WHERE l.connection_id = $${connection} AND l.role = 'deliver' AND l.epoch = $${epoch})`

const TEXT = {
  ...CONNECTION_SQL,

  receive: `
    INSERT INTO channel_inbound (connection_id, event_key, conversation_key, sender, body, received_at,
      state)
    VALUES ($1, $2, $3, $4, $5, $6, 'received')
    ON CONFLICT (connection_id, event_key) DO NOTHING
    RETURNING seq`,
  nextInbound: `
    SELECT *
    FROM channel_inbound i
    WHERE i.connection_id = $1
      AND i.state = 'received'
      AND i.next_at <= $2
      AND NOT EXISTS (SELECT 1 FROM channel_inbound e WHERE e.connection_id = i.connection_id AND e.conversation_key = i.conversation_key AND e.state = 'received' AND e.seq < i.seq)
    ORDER BY i.seq
    LIMIT $3`,
  inbound: 'SELECT * FROM channel_inbound WHERE seq = $1',
  inboundOf: 'SELECT * FROM channel_inbound WHERE connection_id = $1 AND event_key = $2',
  dropInbound:
    "UPDATE channel_inbound SET state = 'dropped', reason = $2 WHERE seq = $1 AND state = 'received'",
  retryInbound: `
    UPDATE channel_inbound
    SET attempts = attempts + 1, next_at = $2, reason = $3
    WHERE seq = $1 AND state = 'received'`,
  acceptInbound: `
    UPDATE channel_inbound
    SET state = 'accepted', reason = NULL, session_id = $2, event_id = $3
    WHERE seq = $1 AND state = 'received'
    RETURNING seq`,
  countInbound: `
    SELECT count(*) AS count
    FROM channel_inbound
    WHERE connection_id = $1 AND sender = $2 AND received_at > $3 AND seq <= $4`,
  lastInbound: `
    SELECT *
    FROM channel_inbound
    WHERE connection_id = $1 AND sender = $2 AND conversation_key = $3 AND seq < $4 AND state = 'accepted'
    ORDER BY seq DESC
    LIMIT 1`,
  pruneInbound: "DELETE FROM channel_inbound WHERE state <> 'received' AND received_at <= $1",

  seeSender: `
    INSERT INTO channel_senders (connection_id, platform_user_id, name, last_seen_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (connection_id, platform_user_id) DO UPDATE SET name = coalesce(excluded.name,
      channel_senders.name), last_seen_at = excluded.last_seen_at
    RETURNING *`,
  senders: `
    SELECT s.*,
      (SELECT max(i.user_id) FROM channel_identities i JOIN channel_connections c ON c.id = s.connection_id WHERE i.org_id = c.org_id AND i.platform = c.platform AND i.platform_user_id = s.platform_user_id) AS user_id
    FROM channel_senders s
    WHERE s.connection_id = $1
    ORDER BY s.last_seen_at DESC
    LIMIT $2`,
  judgeSender: `
    UPDATE channel_senders
    SET verdict = $3, told_at = NULL
    WHERE connection_id = $1 AND platform_user_id = $2
    RETURNING platform_user_id`,
  tellSender: `
    UPDATE channel_senders
    SET told_at = $3
    WHERE connection_id = $1 AND platform_user_id = $2 AND (told_at IS NULL OR told_at <= $4)
    RETURNING platform_user_id`,
  countWrongCode: `
    UPDATE channel_senders
    SET wrong_codes = CASE WHEN wrong_since <= $4 THEN 1 ELSE wrong_codes + 1 END,
      wrong_since = CASE WHEN wrong_since <= $4 THEN $3 ELSE wrong_since END
    WHERE connection_id = $1 AND platform_user_id = $2
    RETURNING wrong_codes`,

  identity: `
    SELECT *
    FROM channel_identities
    WHERE org_id = $1 AND platform = $2 AND workspace = $3 AND platform_user_id = $4`,
  putIdentity: `
    INSERT INTO channel_identities (id, org_id, platform, workspace, platform_user_id, user_id, linked_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (org_id, platform, workspace, platform_user_id) DO UPDATE SET user_id = excluded.user_id,
      linked_at = excluded.linked_at`,
  identities: 'SELECT * FROM channel_identities WHERE user_id = $1 ORDER BY linked_at, id',
  deleteIdentity: 'DELETE FROM channel_identities WHERE user_id = $1 AND id = $2 RETURNING id',
  putPairing: `
    INSERT INTO channel_pairings (code_sha256, org_id, user_id, expires_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id) DO UPDATE SET code_sha256 = excluded.code_sha256,
      expires_at = excluded.expires_at, used_by = NULL`,
  usePairing: `
    UPDATE channel_pairings
    SET used_by = $3
    WHERE org_id = $1 AND code_sha256 = $2 AND ((used_by IS NULL AND expires_at > $4) OR used_by = $3)
    RETURNING user_id`,

  conversation: `
    SELECT *
    FROM channel_conversations
    WHERE connection_id = $1 AND key = $2
    ORDER BY generation DESC
    LIMIT 1`,
  conversationOf: 'SELECT * FROM channel_conversations WHERE session_id = $1',
  openConversation: `
    INSERT INTO channel_conversations (session_id, connection_id, key, generation, opened_by, target,
      language, created_at)
    SELECT $1, $2, $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT), $6, $7, CAST($8 AS BIGINT)
    WHERE NOT EXISTS (SELECT 1 FROM channel_conversations WHERE connection_id = $2 AND key = $3 AND opened_by = $5)
    ON CONFLICT DO NOTHING`,
  route: `
    UPDATE channel_conversations
    SET routed = 1
    WHERE session_id = $1
      AND NOT EXISTS (SELECT 1 FROM channel_conversations n WHERE n.connection_id = channel_conversations.connection_id AND n.key = channel_conversations.key AND n.generation > channel_conversations.generation)
    RETURNING session_id`,
  disclosed: `
    UPDATE channel_conversations
    SET disclosed_at = $2
    WHERE session_id = $1 AND disclosed_at IS NULL
    RETURNING session_id`,
  dueConversations: `
    SELECT c.*, s.last_id, CASE WHEN s.wake_id > s.cursor THEN 1 ELSE 0 END AS running,
      CASE WHEN EXISTS (SELECT 1 FROM inbox_items i WHERE i.session_key = s.key AND i.status = 'pending' AND i.kind IN ('input_required',
      'action_required')) THEN 1 ELSE 0 END AS waiting
    FROM channel_conversations c
    JOIN sessions s ON s.id = c.session_id
    WHERE c.connection_id = $1
      AND c.routed = 1
      AND c.next_at <= $2
      AND s.last_id > c.delivered_through
      AND c.session_id > $3
    ORDER BY c.session_id
    LIMIT $4`,
  retarget: 'UPDATE channel_conversations SET target = $2 WHERE session_id = $1',
  saveProgress: `
    UPDATE channel_conversations
    SET progress_message_id = $2
    WHERE session_id = $1 AND ${fenced(3, 4)}`,
  releaseConversation: 'UPDATE channel_conversations SET next_at = 0 WHERE session_id = $1',
  releaseHeld: "UPDATE channel_deliveries SET next_at = 0 WHERE session_id = $1 AND state = 'held'",
  advance: `
    UPDATE channel_conversations
    SET delivered_through = $2, next_at = 0
    WHERE session_id = $1 AND delivered_through < $2 AND ${fenced(3, 4)}`,
  postpone: `UPDATE channel_conversations SET next_at = $2 WHERE session_id = $1 AND ${fenced(3, 4)}`,

  delivery: 'SELECT * FROM channel_deliveries WHERE session_id = $1 AND event_id = $2 AND part = $3',
  beginDelivery: `
    INSERT INTO channel_deliveries (session_id, event_id, part, key, connection_id, epoch, state, attempts,
      first_at, updated_at)
    SELECT $1, CAST($2 AS BIGINT), CAST($3 AS BIGINT), $4, $5, CAST($6 AS BIGINT), 'sending', 1,
      CAST($7 AS BIGINT), CAST($7 AS BIGINT)
    WHERE ${fenced(5, 6)}
    ON CONFLICT (session_id, event_id, part) DO UPDATE SET state = 'sending',
      attempts = channel_deliveries.attempts + 1, epoch = excluded.epoch, updated_at = excluded.updated_at
    WHERE channel_deliveries.state NOT IN ('sent', 'dead', 'dropped')
    RETURNING part`,
  // The platform may have confirmed the part meanwhile: then its outcome is known.
  settleDelivery: `
    UPDATE channel_deliveries
    SET state = $4, next_at = $5, updated_at = $6,
      platform_message_id = coalesce($7, platform_message_id), error = $8,
      possible_duplicate = CASE WHEN $9 = 1 THEN 1 ELSE possible_duplicate END
    WHERE session_id = $1 AND event_id = $2 AND part = $3 AND NOT (state = 'sent' AND $4 = 'unknown')
      AND ${fenced(10, 11)}
    RETURNING part`,
  redoDelivery: `
    UPDATE channel_deliveries
    SET state = 'waiting', redo = 1, next_at = 0, first_at = $3, error = NULL
    WHERE connection_id = $1 AND key = $2 AND state = 'dead'
    RETURNING session_id, event_id, part`,
  dropDelivery: `
    UPDATE channel_deliveries
    SET state = 'dropped', updated_at = $3
    WHERE connection_id = $1 AND key = $2 AND state = 'dead'
    RETURNING part`,
  dueRedos: `
    SELECT *
    FROM channel_deliveries
    WHERE connection_id = $1 AND redo = 1 AND next_at <= $2
    ORDER BY session_id, event_id, part
    LIMIT $3`,
  endRedo: `
    UPDATE channel_deliveries
    SET redo = 0
    WHERE session_id = $1 AND event_id = $2 AND part = $3 AND ${fenced(4, 5)}`,
  pruneDeliveries: `
    DELETE FROM channel_deliveries
    WHERE connection_id = $1 AND state IN ('sent', 'dropped') AND updated_at <= $2`,
  planReply: `
    INSERT INTO channel_deliveries (session_id, event_id, part, connection_id, key, body, state, first_at,
      updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, 'planned', $7, $7)
    ON CONFLICT (session_id, event_id, part) DO NOTHING`,
  dueReplies: `
    SELECT *
    FROM channel_deliveries
    WHERE session_id = $1
      AND state IN ('planned', 'sending', 'waiting', 'unknown')
      AND next_at <= $2
      AND body IS NOT NULL
    ORDER BY event_id
    LIMIT $3`,
  listDeliveries: `
    SELECT *
    FROM channel_deliveries
    WHERE connection_id = $1 AND state = $2
    ORDER BY updated_at DESC
    LIMIT $3`,
  deliveryOfKey: 'SELECT * FROM channel_deliveries WHERE connection_id = $1 AND key = $2',

  putPrompt: `
    INSERT INTO channel_prompts (id, session_id, kind, about, choices, event_id, part, item_id, shown_hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (id) DO NOTHING`,
  promptOfItem: 'SELECT * FROM channel_prompts WHERE item_id = $1',
  itemOf: 'SELECT id FROM inbox_items WHERE session_id = $1 AND source_event_id = $2',
  prompt: 'SELECT * FROM channel_prompts WHERE id = $1',
  closePrompts: `
    UPDATE channel_prompts
    SET closed_at = $3
    WHERE session_id = $1 AND closed_at IS NULL AND (CAST($2 AS TEXT) IS NULL OR about = $2)`,

  tellTaken: `
    UPDATE channel_deliveries
    SET state = 'sent', platform_message_id = $3, error = NULL, updated_at = $4
    WHERE connection_id = $1 AND key = $2 AND state IN ('sending', 'unknown')`,
  tellFailed: `
    UPDATE channel_deliveries
    SET state = $3, error = $4, updated_at = $5, next_at = CAST($6 AS BIGINT),
      redo = CASE WHEN $3 = 'held' THEN 1 ELSE 0 END, platform_message_id = NULL
    WHERE connection_id = $1 AND key = $2 AND state IN ('sending', 'unknown', 'sent')`,
  putVisitor: `
    INSERT INTO channel_visitors (token_sha256, connection_id, subject, name, expires_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (token_sha256) DO NOTHING`,
  visitor:
    'SELECT * FROM channel_visitors WHERE connection_id = $1 AND token_sha256 = $2 AND expires_at > $3',
  pruneVisitors: 'DELETE FROM channel_visitors WHERE connection_id = $1 AND expires_at <= $2',

  acquire: `
    INSERT INTO channel_leases (connection_id, role, holder, epoch, held_until)
    VALUES ($1, $2, $3, 1, $5)
    ON CONFLICT (connection_id,
      role) DO UPDATE SET epoch = CASE WHEN channel_leases.holder = excluded.holder THEN channel_leases.epoch ELSE channel_leases.epoch + 1 END,
      holder = excluded.holder, held_until = excluded.held_until
    WHERE channel_leases.holder = excluded.holder OR channel_leases.held_until <= $4
    RETURNING epoch`,
  release: 'UPDATE channel_leases SET held_until = 0 WHERE connection_id = $1 AND role = $2 AND holder = $3',
} as const satisfies Record<string, string>
export type ChannelStatement = keyof typeof TEXT

export const CHANNEL_SQL: NamedSql<ChannelStatement> = {
  prefix: 'channel',
  text: TEXT,
  reads: [
    ...CONNECTION_READS,
    'nextInbound',
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
    'delivery',
    'dueReplies',
    'dueRedos',
    'promptOfItem',
    'itemOf',
    'listDeliveries',
    'deliveryOfKey',
    'prompt',
  ],
}
