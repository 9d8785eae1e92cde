/**
 * What a messaging channel stores in addition to the log: inbound events before they are acknowledged,
 * deliveries and their progress, senders, and leases between processes. Times are epoch milliseconds of the
 * store.
 */

import type { ConnectionStore } from './connections.ts'
import type { LaterStore, VisitorStore } from './visitors.ts'

export type ChannelIdentity = {
  id: string
  org_id: string
  platform: string
  /** The namespace of the platform's user ids. */
  workspace: string
  platform_user_id: string
  user_id: string
  linked_at: number
}
export type ChannelSender = {
  connection_id: string
  platform_user_id: string
  name: string | null
  verdict: 'allowed' | 'blocked' | null
  wrong_codes: number
  wrong_since: number
  told_at: number | null
  last_seen_at: number
}

/** A conversation is a session; `/new` and linking start the next generation of its key. */
export type ChannelConversation = {
  session_id: string
  connection_id: string
  key: string
  generation: number
  opened_by: number
  target: string
  language: string | null
  created_at: number
  routed: number
  delivered_through: number
  next_at: number
  disclosed_at: number | null
  /** The progress message of a running turn, which the answer replaces. */
  progress_message_id: string | null
}
/** A conversation whose log may have events to deliver. */
export type DueConversation = ChannelConversation & {
  last_id: number
  running: number
  /** 1 if it waits for a person's answer. */
  waiting: number
}

export type NewInbound = Pick<
  InboundRow,
  'connection_id' | 'event_key' | 'conversation_key' | 'sender' | 'body'
>
export type InboundRow = {
  seq: number
  connection_id: string
  event_key: string
  conversation_key: string
  sender: string
  received_at: number
  body: string
  state: 'received' | 'accepted' | 'dropped'
  reason: string | null
  attempts: number
  next_at: number
  session_id: string | null
  event_id: number | null
}

/** An inbound row: rows are numbered within their connection. */
export type InboundId = Pick<InboundRow, 'connection_id' | 'seq'>

/**
 * planned   an automatic reply that is not sent yet
 * sending   written before the call; for a later holder of the lease, the outcome is unknown
 * waiting   the platform did not accept it: retry at `next_at`
 * unknown   the request was sent and got no response
 * held      the platform accepts it only after the person has written again
 * dead      failed; an operator may send it again
 * dropped   discarded by an operator
 */
export const DELIVERY_STATES = [
  'planned',
  'sending',
  'waiting',
  'unknown',
  'sent',
  'held',
  'dead',
  'dropped',
] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]
export type ChannelDelivery = {
  session_id: string
  event_id: number
  part: number
  connection_id: string
  key: string
  state: DeliveryState
  attempts: number
  first_at: number
  next_at: number
  epoch: number
  platform_message_id: string | null
  error: string | null
  possible_duplicate: number
  body: string | null
  updated_at: number
}
export type DeliveryId = Pick<ChannelDelivery, 'session_id' | 'event_id' | 'part'>
export type DeliverySettled = Partial<
  Pick<ChannelDelivery, 'platform_message_id' | 'error' | 'possible_duplicate'>
> & { state: DeliveryState; retry_ms?: number }

export type ChannelPrompt = {
  id: string
  session_id: string
  kind: 'question' | 'gate'
  about: string
  choices: string
  /** The event that shows its buttons. */
  event_id: number | null
  part: number | null
  item_id: string | null
  /** Hash of the arguments that were shown, which an approval covers. */
  shown_hash: string | null
  closed_at: number | null
}

export type ChannelRole = 'consume' | 'deliver'
/** Writes of a process that has lost the lease change nothing. */
export type ChannelFence = { connection_id: string; epoch: number }

/** Channel changes within a commit. */
export type ChannelChange =
  /** Rejected with `already_accepted` unless the inbound row is still waiting. */
  | ({ do: 'channel.accept' } & InboundId)
  /** Rejected with `route_moved` unless this is the newest session of its conversation. */
  | { do: 'channel.route' }
  /**
   * Records that the platform accepted the disclosure; rejected with `already_accepted` if it was recorded
   * before.
   */
  | { do: 'channel.disclosed' }

export interface ChannelStore extends ConnectionStore, VisitorStore, LaterStore {
  /** Resolves when the row is stored; null if the event was received before. */
  receive(row: NewInbound): Promise<number | null>
  /** The oldest waiting row of every conversation, if it is due. */
  nextInbound(connectionId: string, limit: number): Promise<InboundRow[]>
  /** The waiting rows of a conversation in order, due or not. */
  waitingInbound(connectionId: string, conversationKey: string, limit: number): Promise<InboundRow[]>
  /** Makes a waiting row due later, without counting an attempt. */
  deferInbound(row: InboundId, afterMs: number): Promise<void>
  getInbound(connectionId: string, seq: number): Promise<InboundRow | null>
  inboundOf(connectionId: string, eventKey: string): Promise<InboundRow | null>
  /** Only changes a waiting row. */
  dropInbound(row: InboundId, reason: string): Promise<void>
  retryInbound(row: InboundId, afterMs: number, reason: string): Promise<void>
  /** Counts the sender's rows up to this one, within the time before it was received. */
  countInbound(row: InboundRow, withinMs: number): Promise<number>
  /** The sender's previous message in that conversation, if it was accepted. */
  lastInbound(row: InboundRow): Promise<InboundRow | null>
  pruneInbound(olderThanMs: number): Promise<void>

  /** Records that the sender was seen. */
  seeSender(connectionId: string, platformUserId: string, name: string | null): Promise<ChannelSender>
  /** Most recently seen first, each with the linked user. */
  listSenders(connectionId: string, limit: number): Promise<(ChannelSender & { user_id: string | null })[]>
  /** False if no sender with that id was seen. */
  judgeSender(
    connectionId: string,
    platformUserId: string,
    verdict: ChannelSender['verdict'],
  ): Promise<boolean>
  /** True at most once within the time: whether an automatic reply may be sent. */
  tellSender(connectionId: string, platformUserId: string, withinMs: number): Promise<boolean>
  /** Counts a wrong code; the count restarts after the time. */
  countWrongCode(connectionId: string, platformUserId: string, withinMs: number): Promise<number>

  findIdentity(
    where: Pick<ChannelIdentity, 'org_id' | 'platform' | 'workspace' | 'platform_user_id'>,
  ): Promise<ChannelIdentity | null>
  putIdentity(identity: Omit<ChannelIdentity, 'linked_at'>): Promise<void>
  listIdentities(userId: string): Promise<ChannelIdentity[]>
  deleteIdentity(userId: string, id: string): Promise<boolean>
  /** Replaces the user's open code. */
  putPairing(pairing: { code_sha256: string; org_id: string; user_id: string; ttl_ms: number }): Promise<void>
  /** The user of a valid code. It works once, but again for the same `usedBy`. */
  usePairing(orgId: string, codeSha256: string, usedBy: string): Promise<string | null>

  /** The newest generation. */
  conversation(connectionId: string, key: string): Promise<ChannelConversation | null>
  conversationOf(sessionId: string): Promise<ChannelConversation | null>
  /** Idempotent: an inbound row opens one generation. */
  openConversation(
    conversation: Pick<
      ChannelConversation,
      'session_id' | 'connection_id' | 'key' | 'generation' | 'opened_by' | 'target' | 'language'
    >,
  ): Promise<void>
  /** Conversations with undelivered events, ordered by session id, after `after`. */
  dueConversations(connectionId: string, after: string, limit: number): Promise<DueConversation[]>
  /** Changes the target of future deliveries. */
  retarget(sessionId: string, target: string): Promise<void>
  saveProgress(sessionId: string, messageId: string | null, fence: ChannelFence): Promise<void>
  /** The person has written again: deliveries that the platform held back may be sent. */
  releaseHeld(sessionId: string): Promise<void>
  advance(sessionId: string, through: number, fence: ChannelFence): Promise<void>
  postpone(sessionId: string, afterMs: number, fence: ChannelFence): Promise<void>

  delivery(id: DeliveryId): Promise<ChannelDelivery | null>
  /** Before the call. False if the lease was lost, and nothing may be sent. */
  beginDelivery(id: DeliveryId & { key: string }, fence: ChannelFence): Promise<boolean>
  /** After the call. False if the lease was lost. */
  settleDelivery(id: DeliveryId, settled: DeliverySettled, fence: ChannelFence): Promise<boolean>
  /** Plans an automatic reply; idempotent. */
  planReply(reply: DeliveryId & { connection_id: string; key: string; body: string }): Promise<void>
  /** Automatic replies to send now, oldest first. */
  dueReplies(connectionId: string, limit: number): Promise<ChannelDelivery[]>
  listDeliveries(connectionId: string, state: DeliveryState, limit: number): Promise<ChannelDelivery[]>
  /** Null if it does not belong to this connection, or was pruned. */
  deliveryOfKey(connectionId: string, key: string): Promise<ChannelDelivery | null>

  /** The delivery of a message of ours, by the platform's id; null if it was pruned. */
  deliveryOfMessage(sessionId: string, messageId: string): Promise<ChannelDelivery | null>

  /** Sends a failed delivery again, with the parts of its event that follow; null if there is none. */
  redoDelivery(connectionId: string, key: string): Promise<DeliveryId | null>
  dropDelivery(connectionId: string, key: string): Promise<boolean>
  /** Deliveries before the cursor that are to be sent again. */
  dueRedos(connectionId: string, limit: number): Promise<ChannelDelivery[]>
  endRedo(id: DeliveryId, fence: ChannelFence): Promise<void>
  /** Deletes deliveries in a final state. */
  pruneDeliveries(connectionId: string, olderThanMs: number): Promise<void>

  putPrompt(prompt: Omit<ChannelPrompt, 'closed_at'>): Promise<void>
  /** Finds a prompt of that connection's organisation. */
  getPrompt(connectionId: string, id: string): Promise<ChannelPrompt | null>
  promptOfItem(itemId: string): Promise<ChannelPrompt | null>
  /** The inbox item that an event created. */
  itemOf(sessionId: string, eventId: number): Promise<string | null>
  closePrompts(sessionId: string, about: string | null): Promise<void>

  /** Acquires or renews the lease and returns its epoch; null if another process holds it. */
  acquire(connectionId: string, role: ChannelRole, holder: string, ttlMs: number): Promise<number | null>
  release(connectionId: string, role: ChannelRole, holder: string): Promise<void>
}
