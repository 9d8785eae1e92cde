/**
 * The streams of all pages of one user in a browser: at most two connections, however many pages there are.
 * A browser has six HTTP/1.1 connections to a server for all its tabs.
 *
 *   changes   one connection while a page wants changes of sessions and inbox
 *   logs      one connection for the logs of all sessions; replaced, with cursors, when the sessions change
 *
 * The hub runs in a shared worker, or in the page where the browser has none. It may end at any moment: pages
 * keep their cursors and subscribe again at the next hub.
 */
import type { SharedItem, SharedOptions, SharedStream, StreamState } from '@cairn/client'
import {
  cursorsOf,
  endSubscription,
  type HubPort,
  type HubSubscription,
  newSubscription,
  sendChanges,
  sendEvents,
  sendState,
} from './hub-subscription.ts'
import type { Change, ToHub } from './messages.ts'
import { errorsWords } from '../words/errors.ts'

/**
 * A page that is silent for longer has died without a message. Browsers run the timers of a hidden page once
 * a minute.
 */
const SILENT_MS = 150_000
/** The limit of one stream on the server. */
const SESSIONS_MAX = 100
const TOO_MANY = new Error(errorsWords.tooManySessions(SESSIONS_MAX))

export type Hub = {
  /** The page of the port wants exactly these subscriptions. */
  receive(port: HubPort, wants: ToHub): void
  /** The page has closed. */
  drop(port: HubPort): void
}
type HubDeps = { userId: string; stream: SharedStream; now: () => number }
type Connection = { stop(): void; hasEnded: () => boolean }

export function createHub(deps: HubDeps): Hub {
  const pages = createPages(deps.now)
  let changes: Connection | null = null
  let logs: (Connection & { sessions: readonly string[] }) | null = null

  function followChanges(added: readonly HubSubscription[]) {
    if (pages.toChanges().length === 0) {
      changes?.stop()
      changes = null
    } else if (changes === null || changes.hasEnded())
      changes = connect(deps, pages.toChanges, { changes: true }, items => {
        const told = items.filter((item): item is Change => item.type !== 'event' && item.type !== 'refused')
        for (const each of pages.toChanges()) sendChanges(each, told)
      })
    // A page that joins read its lists before it receives changes here; `opened` makes it read them again.
    else for (const each of added) sendChanges(each, [{ type: 'opened', principal_id: deps.userId }])
  }

  function followLogs(added: readonly HubSubscription[]) {
    for (const each of added.toReversed())
      if (cursorsOf(pages.toLogs()).size > SESSIONS_MAX) endSubscription(each, TOO_MANY)
    const cursors = cursorsOf(pages.toLogs())
    const isSame = logs?.sessions.length === cursors.size && logs.sessions.every(id => cursors.has(id))
    if (isSame && added.length === 0) return
    logs?.stop()
    logs =
      cursors.size === 0
        ? null
        : {
            sessions: [...cursors.keys()],
            ...connect(deps, pages.toLogs, { sessions: cursors }, deliverLogs),
          }
  }

  /**
   * A connection starts at the lowest cursor of each session, and each new subscription opens another
   * connection. So no subscriber misses an event, and one that is ahead skips what it has.
   */
  function deliverLogs(items: SharedItem[]) {
    const events = Map.groupBy(
      items.flatMap(item => (item.type === 'event' ? [item.event] : [])),
      event => event.session_id,
    )
    for (const each of pages.toLogs()) sendEvents(each, events.get(each.log?.session_id ?? '') ?? [])
    for (const item of items)
      if (item.type === 'refused')
        for (const each of pages.toLogs())
          if (each.log?.session_id === item.session_id) endSubscription(each, item.error)
  }

  return {
    receive(port, wants) {
      const added = pages.update(port, wants)
      followChanges(added.filter(({ log }) => log === null))
      followLogs(added.filter(({ log }) => log !== null))
      port.postMessage({ type: 'alive' })
    },
    drop(port) {
      pages.drop(port)
      followChanges([])
      followLogs([])
    },
  }
}

/** The pages that sent a message within SILENT_MS, and their subscriptions. */
function createPages(now: () => number) {
  const pages = new Map<HubPort, { heardAt: number; subscriptions: Map<number, HubSubscription> }>()
  const open = (): HubSubscription[] =>
    [...pages.values()].flatMap(page => [...page.subscriptions.values()].filter(each => !each.isOver))
  return {
    toChanges: () => open().filter(({ log }) => log === null),
    toLogs: () => open().filter(({ log }) => log !== null),
    /** Returns the new subscriptions. */
    update(port: HubPort, wants: ToHub): HubSubscription[] {
      const subscriptions = pages.get(port)?.subscriptions ?? new Map<number, HubSubscription>()
      pages.set(port, { heardAt: now(), subscriptions })
      for (const [other, { heardAt }] of pages) if (now() - heardAt > SILENT_MS) pages.delete(other)
      const keys = new Set(wants.map(({ key }) => key))
      for (const key of subscriptions.keys()) if (!keys.has(key)) subscriptions.delete(key)
      const added = wants
        .filter(({ key }) => !subscriptions.has(key))
        .map(want => newSubscription(want, port))
      for (const each of added) subscriptions.set(each.key, each)
      return added
    },
    drop: (port: HubPort): void => void pages.delete(port),
  }
}

/** Reads a stream and delivers it to the current subscribers. */
function connect(
  { userId, stream }: HubDeps,
  subscribers: () => HubSubscription[],
  options: SharedOptions,
  deliver: (items: SharedItem[]) => void,
): Connection {
  const stopped = new AbortController()
  const { signal } = stopped
  const onState = (state: StreamState) => {
    if (!signal.aborted) for (const each of subscribers()) sendState(each, state)
  }
  async function run() {
    try {
      for await (const items of stream({ ...options, signal, onState })) {
        if (signal.aborted) return
        // All pages of a browser share one login, which may have changed to another user.
        if (items.some(item => item.type === 'opened' && item.principal_id !== userId))
          throw new Error(errorsWords.otherUser)
        deliver(items)
      }
    } catch (error) {
      if (signal.aborted) return
      stopped.abort()
      for (const each of subscribers()) endSubscription(each, error)
    }
  }
  void run()
  return { stop: () => stopped.abort(), hasEnded: () => signal.aborted }
}
