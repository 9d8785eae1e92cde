/** The subscriptions of this page at the hub. The page keeps the cursors, so a hub may end at any moment. */
import type { StreamState } from '@cairn/client'
import { ApiError } from '@cairn/client/unchecked'
import type { EventId, SessionEvent } from '@cairn/protocol'
import { type Every, type OpenHub, linkToHub } from './hub-link.ts'
import type { Change, FromHub, Want } from './messages.ts'

export type Listener<Item> = {
  onItems: (items: Item[]) => void
  onState?: (state: StreamState) => void
  /** The subscription has ended. */
  onFailed: (error: unknown) => void
}
export type Subscriptions = {
  /** Each returns a function that stops it. */
  followChanges(listener: Listener<Change>): () => void
  followLog(sessionId: string, after: EventId, listener: Listener<SessionEvent>): () => void
  /** The page is being left, and may be restored. */
  pause(): void
  resume(): void
}
type Subscription = { want: Want } & (
  { type: 'changes'; listener: Listener<Change> } | { type: 'events'; listener: Listener<SessionEvent> }
)

export function createSubscriptions(openHub: OpenHub, every: Every): Subscriptions {
  const subscriptions = new Map<number, Subscription>()
  const link = linkToHub(openHub, every, () => [...subscriptions.values()].map(({ want }) => want), receive)
  let nextKey = 1

  function add(subscription: Subscription): () => void {
    const { key } = subscription.want
    subscriptions.set(key, subscription)
    link.change()
    return () => {
      if (subscriptions.delete(key)) link.change()
    }
  }

  function receive(message: Exclude<FromHub, { type: 'alive' }>) {
    const subscription = subscriptions.get(message.key)
    if (subscription === undefined) return
    const { listener } = subscription
    if (message.type === 'state') listener.onState?.(message.state)
    else if (message.type === 'failed') {
      subscriptions.delete(message.key)
      link.change()
      const { problem, message: text } = message.failure
      listener.onFailed(problem === null ? new Error(text) : new ApiError(problem))
    } else if (message.type === 'changes' && subscription.type === 'changes')
      subscription.listener.onItems(message.items)
    else if (message.type === 'events' && subscription.type === 'events') {
      const { want } = subscription
      const after = message.items.at(-1)?.id
      if (want.log !== null && after !== undefined)
        subscription.want = { ...want, log: { ...want.log, after } }
      subscription.listener.onItems(message.items)
    }
  }

  return {
    followChanges: listener => add({ type: 'changes', listener, want: { key: nextKey++, log: null } }),
    followLog: (session_id, after, listener) =>
      add({ type: 'events', listener, want: { key: nextKey++, log: { session_id, after } } }),
    pause: link.close,
    resume: link.change,
  }
}
