/**
 * What a messaging channel keeps beside the log: what came in before it was acknowledged, what goes out and
 * how far it got, who speaks, and who of several processes acts. Times are epoch milliseconds of the store.
 */

import type { ConnectionStore } from './channel-connections.ts'
import type { LaterStore, VisitorStore } from './channels-beside.ts'

export type ChannelIdentity = {
  id: string
  org_id: string
  platform: string
  /** Within which the platform's user ids are unique. */
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

/** One conversation is one session; `/new` and linking begin the next generation of its key. */
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
  /** What a running turn shows, and the answer replaces. */
  progress_message_id: string | null
}
/** A conversation whose log may hold something to deliver. */
export type DueConversation = ChannelConversation & {
  last_id: number
  running: number
  /** 1: for an answer of a person. */
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

/**
 * planned   a notice that waits for its turn
 * sending   written before the call; found so by a later holder, its outcome is not known
 * waiting   the platform did not take it: again at `next_at`
 * unknown   the request left and no answer came
 * held      the platform takes it only after the person has written again
 * dead      given up; an operator may send it again
 * dropped   an operator has given it up
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
  /** Where its buttons are shown. */
  event_id: number | null
  part: number | null
  item_id: string | null
  /** Of the arguments that were shown: an approval covers those. */
  shown_hash: string | null
  closed_at: number | null
}

export type ChannelRole = 'consume' | 'deliver'
/** Writes of a deliverer whose lease is another's by now change nothing. */
export type ChannelFence = { connection_id: string; epoch: number }

/** What the commit of a channel does beside its events. */
export type ChannelChange =
  /** Refused with `already_accepted` unless the inbound row still waits. */
  | { do: 'channel.accept'; seq: number }
  /** Refused with `route_moved` unless this is the newest session of its conversation. */
  | { do: 'channel.route' }
  /** Refused with `already_accepted` where it was recorded before: the disclosure that a platform took. */
  | { do: 'channel.disclosed' }

export interface ChannelStore extends ConnectionStore, VisitorStore, LaterStore {
  /** Resolves when the row is on disk; null: that event was received before. */
  receive(row: NewInbound): Promise<number | null>
  /** The oldest waiting row of every conversation, whose time has come. */
  nextInbound(connectionId: string, limit: number): Promise<InboundRow[]>
  getInbound(seq: number): Promise<InboundRow | null>
  inboundOf(connectionId: string, eventKey: string): Promise<InboundRow | null>
  /** Only a waiting row. */
  dropInbound(seq: number, reason: string): Promise<void>
  retryInbound(seq: number, afterMs: number, reason: string): Promise<void>
  /** Rows of its sender up to this one, within the time before it was received. */
  countInbound(row: InboundRow, withinMs: number): Promise<number>
  /** What its sender said last in that conversation before this row, if it was accepted. */
  lastInbound(row: InboundRow): Promise<InboundRow | null>
  pruneInbound(olderThanMs: number): Promise<void>

  /** Notes that the sender was seen. */
  seeSender(connectionId: string, platformUserId: string, name: string | null): Promise<ChannelSender>
  /** Who was seen last comes first, each with the user that is linked. */
  listSenders(connectionId: string, limit: number): Promise<(ChannelSender & { user_id: string | null })[]>
  /** False: nobody of that id was seen. */
  judgeSender(
    connectionId: string,
    platformUserId: string,
    verdict: ChannelSender['verdict'],
  ): Promise<boolean>
  /** True at most once within the time: whether a notice is due. */
  tellSender(connectionId: string, platformUserId: string, withinMs: number): Promise<boolean>
  /** Counts a wrong code; the count begins anew after the time. */
  countWrongCode(connectionId: string, platformUserId: string, withinMs: number): Promise<number>

  findIdentity(
    where: Pick<ChannelIdentity, 'org_id' | 'platform' | 'workspace' | 'platform_user_id'>,
  ): Promise<ChannelIdentity | null>
  putIdentity(identity: Omit<ChannelIdentity, 'linked_at'>): Promise<void>
  listIdentities(userId: string): Promise<ChannelIdentity[]>
  deleteIdentity(userId: string, id: string): Promise<boolean>
  /** In place of the user's open code. */
  putPairing(pairing: { code_sha256: string; org_id: string; user_id: string; ttl_ms: number }): Promise<void>
  /** The user of a live code, once; again for the same `usedBy`. */
  usePairing(orgId: string, codeSha256: string, usedBy: string): Promise<string | null>

  /** The newest generation. */
  conversation(connectionId: string, key: string): Promise<ChannelConversation | null>
  conversationOf(sessionId: string): Promise<ChannelConversation | null>
  /** The same inbound row opens one generation, however often it is tried. */
  openConversation(
    conversation: Pick<
      ChannelConversation,
      'session_id' | 'connection_id' | 'key' | 'generation' | 'opened_by' | 'target' | 'language'
    >,
  ): Promise<void>
  /** Conversations with events past what was delivered, by their sessions' ids, after `after`. */
  dueConversations(connectionId: string, after: string, limit: number): Promise<DueConversation[]>
  /** Where what goes out from now on goes. */
  retarget(sessionId: string, target: string): Promise<void>
  saveProgress(sessionId: string, messageId: string | null, fence: ChannelFence): Promise<void>
  /** The person has written again: what the platform held back may go out. */
  releaseHeld(sessionId: string): Promise<void>
  advance(sessionId: string, through: number, fence: ChannelFence): Promise<void>
  postpone(sessionId: string, afterMs: number, fence: ChannelFence): Promise<void>

  delivery(id: DeliveryId): Promise<ChannelDelivery | null>
  /** Before the call. False: the lease is another's, and nothing may be sent. */
  beginDelivery(id: DeliveryId & { key: string }, fence: ChannelFence): Promise<boolean>
  /** After it. False: the lease is another's. */
  settleDelivery(id: DeliveryId, settled: DeliverySettled, fence: ChannelFence): Promise<boolean>
  /** A notice of the channel itself; the same one is planned once. */
  planNotice(notice: DeliveryId & { connection_id: string; key: string; body: string }): Promise<void>
  /** Notices to send now, the oldest first. */
  dueNotices(connectionId: string, limit: number): Promise<ChannelDelivery[]>
  listDeliveries(connectionId: string, state: DeliveryState, limit: number): Promise<ChannelDelivery[]>
  /** Null: it is none of this connection, or it was pruned. */
  deliveryOfKey(connectionId: string, key: string): Promise<ChannelDelivery | null>

  /** A dead one goes out again, and what of its event follows it; null: there is none. */
  redoDelivery(connectionId: string, key: string): Promise<DeliveryId | null>
  dropDelivery(connectionId: string, key: string): Promise<boolean>
  /** Parts behind the cursor that are to go out again. */
  dueRedos(connectionId: string, limit: number): Promise<ChannelDelivery[]>
  endRedo(id: DeliveryId, fence: ChannelFence): Promise<void>
  /** What is settled for good. */
  pruneDeliveries(connectionId: string, olderThanMs: number): Promise<void>

  putPrompt(prompt: Omit<ChannelPrompt, 'closed_at'>): Promise<void>
  getPrompt(id: string): Promise<ChannelPrompt | null>
  promptOfItem(itemId: string): Promise<ChannelPrompt | null>
  /** The inbox item that an event opened. */
  itemOf(sessionId: string, eventId: number): Promise<string | null>
  closePrompts(sessionId: string, about: string | null): Promise<void>

  /** The epoch of the lease, taken or renewed; null: another holds it. */
  acquire(connectionId: string, role: ChannelRole, holder: string, ttlMs: number): Promise<number | null>
  release(connectionId: string, role: ChannelRole, holder: string): Promise<void>
}
