/** Channels, with the same statements on either store. */
import { type Asking as AskingFor, createAsking, onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed } from '../../engine/resource.ts'
import { channelGuards } from './change.ts'
import { type ConnectionStore, createConnectionStore, ensureOrganisation } from './connections.ts'
import type { ChannelChange, ChannelFence, ChannelStore, DeliveryId } from './row.ts'
import { CHANNEL_SQL, type ChannelStatement } from './sql.ts'

type Asking = AskingFor<ChannelStatement>

/** A part waits this long for the person to write again. */
const HELD_MS = 7 * 24 * 60 * 60_000

const place = ({ session_id, event_id, part }: DeliveryId): [string, number, number] => [
  session_id,
  event_id,
  part,
]
const held = ({ connection_id, epoch }: ChannelFence): [string, number] => [connection_id, epoch]

function createChannelStore(ask: AskNamed<ChannelStatement>, now: () => number): ChannelStore {
  const asking = createAsking(ask)
  return {
    ...createConnectionStore(asking, now),
    ...arriving(asking, now),
    ...speaking(asking, now),
    ...leaving(asking, now),
  }
}

type Arriving =
  | 'receive'
  | 'nextInbound'
  | 'waitingInbound'
  | 'deferInbound'
  | 'getInbound'
  | 'inboundOf'
  | 'dropInbound'
  | 'retryInbound'
  | 'countInbound'
  | 'lastInbound'
  | 'pruneInbound'
/** Inbound events. */
const arriving = ({ ask, all, one, act, did }: Asking, now: () => number): Pick<ChannelStore, Arriving> => ({
  async receive({ connection_id, event_key, conversation_key, sender, body }) {
    if ((await one('inboundOf', connection_id, event_key)) !== null) return null
    const [counted] = await ask('countReceived', [connection_id])
    const seq = Number(counted?.['inbound_seq'])
    const given = [connection_id, event_key, conversation_key, sender, body, now(), seq]
    return (await did('receive', ...given)) ? seq : null
  },
  nextInbound: (connectionId, limit) => all('nextInbound', connectionId, now(), limit),
  waitingInbound: (connectionId, key, limit) => all('waitingInbound', connectionId, key, limit),
  deferInbound: ({ connection_id, seq }, afterMs) => act('deferInbound', connection_id, seq, now() + afterMs),
  getInbound: (connectionId, seq) => one('inbound', connectionId, seq),
  inboundOf: (connectionId, eventKey) => one('inboundOf', connectionId, eventKey),
  dropInbound: ({ connection_id, seq }, reason) => act('dropInbound', connection_id, seq, reason),
  retryInbound: ({ connection_id, seq }, afterMs, reason) =>
    act('retryInbound', connection_id, seq, now() + afterMs, reason),
  async countInbound({ connection_id, sender, received_at, seq }, withinMs) {
    const [row] = await ask('countInbound', [connection_id, sender, received_at - withinMs, seq])
    return Number(row?.['count'])
  },
  lastInbound: ({ connection_id, sender, conversation_key, seq }) =>
    one('lastInbound', connection_id, sender, conversation_key, seq),
  pruneInbound: olderThanMs => act('pruneInbound', now() - olderThanMs),
})

type Speaking =
  | 'seeSender'
  | 'listSenders'
  | 'judgeSender'
  | 'tellSender'
  | 'countWrongCode'
  | 'findIdentity'
  | 'putIdentity'
  | 'listIdentities'
  | 'deleteIdentity'
  | 'putPairing'
  | 'usePairing'
/** Senders. */
const speaking = (asking: Asking, now: () => number): Pick<ChannelStore, Speaking> => {
  const { ask, all, one, act, did } = asking
  return {
    async seeSender(connectionId, platformUserId, name) {
      const [row] = await all<Awaited<ReturnType<ChannelStore['seeSender']>>>(
        'seeSender',
        connectionId,
        platformUserId,
        name,
        now(),
      )
      if (row === undefined) throw new Error('[seeSender] the store answered without the row it wrote')
      return row
    },
    listSenders: (connectionId, limit) => all('senders', connectionId, limit),
    judgeSender: (connectionId, platformUserId, verdict) =>
      did('judgeSender', connectionId, platformUserId, verdict),
    tellSender: (connectionId, platformUserId, withinMs) =>
      did('tellSender', connectionId, platformUserId, now(), now() - withinMs),
    async countWrongCode(connectionId, platformUserId, withinMs) {
      const [row] = await ask('countWrongCode', [connectionId, platformUserId, now(), now() - withinMs])
      return Number(row?.['wrong_codes'] ?? 0)
    },

    findIdentity: ({ org_id, platform, workspace, platform_user_id }) =>
      one('identity', org_id, platform, workspace, platform_user_id),
    async putIdentity({ id, org_id, platform, workspace, platform_user_id, user_id }) {
      await ensureOrganisation(asking, org_id, now())
      await act('putIdentity', id, org_id, platform, workspace, platform_user_id, user_id, now())
    },
    listIdentities: userId => all('identities', userId),
    deleteIdentity: (userId, id) => did('deleteIdentity', userId, id),
    async putPairing({ code_sha256, org_id, user_id, ttl_ms }) {
      await ensureOrganisation(asking, org_id, now())
      await act('putPairing', code_sha256, org_id, user_id, now() + ttl_ms)
    },
    async usePairing(orgId, codeSha256, usedBy) {
      const [row] = await ask('usePairing', [orgId, codeSha256, usedBy, now()])
      return row === undefined ? null : String(row['user_id'])
    },
  }
}

/** Conversations and outgoing parts. */
const leaving = (
  { ask, all, one, act, did }: Asking,
  now: () => number,
): Omit<ChannelStore, keyof ConnectionStore | Arriving | Speaking> => ({
  conversation: (connectionId, key) => one('conversation', connectionId, key),
  conversationOf: sessionId => one('conversationOf', sessionId),
  openConversation: ({ session_id, connection_id, key, generation, opened_by, target, language }) =>
    act('openConversation', session_id, connection_id, key, generation, opened_by, target, language, now()),
  dueConversations: (connectionId, after, limit) =>
    all('dueConversations', connectionId, now(), after, limit),
  retarget: (sessionId, target) => act('retarget', sessionId, target),
  saveProgress: (sessionId, messageId, fence) => act('saveProgress', sessionId, messageId, ...held(fence)),
  async releaseHeld(sessionId) {
    await act('releaseHeld', sessionId)
    await act('releaseConversation', sessionId)
  },
  advance: (sessionId, through, fence) => act('advance', sessionId, through, ...held(fence)),
  postpone: (sessionId, afterMs, fence) => act('postpone', sessionId, now() + afterMs, ...held(fence)),

  delivery: id => one('delivery', ...place(id)),
  beginDelivery: (id, fence) => did('beginDelivery', ...place(id), id.key, ...held(fence), now()),
  settleDelivery: (id, settled, fence) =>
    did(
      'settleDelivery',
      ...place(id),
      settled.state,
      now() + (settled.retry_ms ?? 0),
      now(),
      settled.platform_message_id ?? null,
      settled.error ?? null,
      settled.possible_duplicate ?? 0,
      ...held(fence),
    ),
  planReply: reply => act('planReply', ...place(reply), reply.connection_id, reply.key, reply.body, now()),
  dueReplies: (connectionId, limit) => all('dueReplies', repliesOf(connectionId), now(), limit),
  listDeliveries: (connectionId, state, limit) => all('listDeliveries', connectionId, state, limit),
  deliveryOfKey: (connectionId, key) => one('deliveryOfKey', connectionId, key),
  deliveryOfMessage: (sessionId, messageId) => one('deliveryOfMessage', sessionId, messageId),

  redoDelivery: (connectionId, key) => one('redoDelivery', connectionId, key, now()),
  dropDelivery: (connectionId, key) => did('dropDelivery', connectionId, key, now()),
  dueRedos: (connectionId, limit) => all('dueRedos', connectionId, now(), limit),
  endRedo: (id, fence) => act('endRedo', ...place(id), ...held(fence)),
  pruneDeliveries: (connectionId, olderThanMs) => act('pruneDeliveries', connectionId, now() - olderThanMs),

  putPrompt: ({ id, session_id, kind, about, choices, event_id, part, item_id, shown_hash }) =>
    act('putPrompt', id, session_id, kind, about, choices, event_id, part, item_id, shown_hash),
  getPrompt: (connectionId, id) => one('prompt', connectionId, id),
  promptOfItem: itemId => one('promptOfItem', itemId),
  async itemOf(sessionId, eventId) {
    const [row] = await ask('itemOf', [sessionId, eventId])
    return row === undefined ? null : String(row['id'])
  },
  closePrompts: (sessionId, about) => act('closePrompts', sessionId, about, now()),

  movePart: (connectionId, { key, outcome, message_id, error }) =>
    outcome === 'taken'
      ? act('tellTaken', connectionId, key, message_id, now())
      : act(
          'tellFailed',
          connectionId,
          key,
          outcome === 'failed' ? 'dead' : 'held',
          error,
          now(),
          now() + HELD_MS,
        ),
  putVisitor: ({ token_sha256, connection_id, subject, name, expires_at }) =>
    act('putVisitor', token_sha256, connection_id, subject, name, expires_at),
  visitor: (connectionId, tokenSha256) => one('visitor', connectionId, tokenSha256, now()),
  pruneVisitors: connectionId => act('pruneVisitors', connectionId, now()),

  async acquire(connectionId, role, holder, ttlMs) {
    const [row] = await ask('acquire', [connectionId, role, holder, now(), now() + ttlMs])
    return row === undefined ? null : Number(row['epoch'])
  },
  release: (connectionId, role, holder) => act('release', connectionId, role, holder),
})

/** The `session_id` of automatic replies, which belong to no session. */
export const repliesOf = (connectionId: string): string => `in:${connectionId}`

export const channels = onBothStores<ChannelChange, ChannelStore, ChannelStatement>(
  CHANNEL_SQL,
  channelGuards,
  createChannelStore,
)
