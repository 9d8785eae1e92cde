/** One subscription of a page at the hub, and the messages sent to the page. */
import type { StreamState } from '@cairn/client'
import { ApiError } from '@cairn/client/unchecked'
import type { EventId, SessionEvent } from '@cairn/protocol'
import type { Change, FromHub, Want } from './messages.ts'

export type HubPort = { postMessage(message: FromHub): void }
export type HubSubscription = Want & {
  port: HubPort
  /** Id of the last event sent to the page. */
  cursor: EventId
  state: StreamState | null
  isOver: boolean
}

export const newSubscription = (want: Want, port: HubPort): HubSubscription => ({
  ...want,
  port,
  cursor: want.log?.after ?? 0,
  state: null,
  isOver: false,
})

export function sendChanges({ port, key }: HubSubscription, items: Change[]): void {
  port.postMessage({ type: 'changes', key, items })
}

/** Sends the events after the cursor. */
export function sendEvents(subscription: HubSubscription, events: SessionEvent[]): void {
  const { port, key, cursor } = subscription
  const items = events.filter(({ id }) => id > cursor)
  subscription.cursor = items.at(-1)?.id ?? cursor
  if (items.length > 0) port.postMessage({ type: 'events', key, items })
}

/** A live subscriber does not see that a connection is replaced by another. */
export function sendState(subscription: HubSubscription, state: StreamState): void {
  if (state === subscription.state || (state === 'connecting' && subscription.state !== null)) return
  const { port, key } = subscription
  subscription.state = state
  port.postMessage({ type: 'state', key, state })
}

export function endSubscription(subscription: HubSubscription, error: unknown): void {
  const { port, key } = subscription
  subscription.isOver = true
  const failure = {
    message: error instanceof Error ? error.message : String(error),
    problem: error instanceof ApiError ? error.problem : null,
  }
  port.postMessage({ type: 'failed', key, failure })
}

/** The lowest cursor of each session. */
export function cursorsOf(subscriptions: readonly HubSubscription[]): Map<string, EventId> {
  const cursors = new Map<string, EventId>()
  for (const { log, cursor } of subscriptions)
    if (log !== null) cursors.set(log.session_id, Math.min(cursor, cursors.get(log.session_id) ?? Infinity))
  return cursors
}
