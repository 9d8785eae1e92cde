/** A server of shared streams, a hub, and pages, all by hand: nothing happens but by promises. */
import { ApiError } from '@cairn/client/unchecked'
import type { SharedItem, SharedOptions, SharedStream } from '@cairn/client'
import type { SessionEvent } from '@cairn/protocol'
import type { OpenHub } from '../src/live/hub-link.ts'
import { type Hub, createHub } from '../src/live/hub.ts'
import type { HubPort } from '../src/live/hub-subscription.ts'
import { type Subscriptions, createSubscriptions } from '../src/live/subscriptions.ts'
import { eventAt } from './sample-data.ts'

/** Every promise that can settle has. */
export const settle = () =>
  new Promise<void>(done => {
    setTimeout(done)
  })
export const problem = (status: number, code: string) =>
  new ApiError({ type: 'x', title: 'No', status, code, detail: 'No.', request_id: 'r' })

/** Streams of what `append` and `change` say, to those who are connected. */
export function fakeServer(principal_id = 'u') {
  const logs = new Map<string, SessionEvent[]>()
  const connections = new Set<{ options: SharedOptions; send: (items: SharedItem[]) => void }>()
  const after = (options: SharedOptions): SharedItem[] =>
    [...(options.sessions ?? [])].flatMap(([id, cursor]) =>
      (logs.get(id) ?? [])
        .filter(event => event.id > cursor)
        .map(event => ({ type: 'event', event }) as const),
    )
  const opened: SharedOptions[] = []
  let connectionsMax = 0
  /** Null lets a connection be; an error ends it. */
  const state = { principal_id, refusal: null as Error | null, missing: new Set<string>() }

  const stream: SharedStream = async function* (options) {
    opened.push(options)
    options.onState?.('connecting', {})
    if (state.refusal !== null) throw state.refusal
    const queue: SharedItem[][] = []
    let wake = (): void => undefined
    const connection = {
      options,
      send(items: SharedItem[]) {
        queue.push(items)
        wake()
      },
    }
    connections.add(connection)
    connectionsMax = Math.max(connectionsMax, connections.size)
    options.signal?.addEventListener('abort', () => {
      connections.delete(connection)
      wake()
    })
    options.onState?.('live', {})
    const refused = [...(options.sessions?.keys() ?? [])].filter(id => state.missing.has(id))
    queue.push([
      { type: 'opened', principal_id: state.principal_id },
      ...refused.map(
        session_id => ({ type: 'refused', session_id, error: problem(404, 'not_found') }) as const,
      ),
      ...after(options),
    ])
    while (options.signal?.aborted !== true) {
      const items = queue.shift()
      if (items !== undefined) yield items
      else
        await new Promise<void>(resolve => {
          wake = resolve
        })
    }
  }
  return {
    stream,
    state,
    opened,
    connected: () => connections.size,
    connectionsMax: () => connectionsMax,
    /** Of the connection of the logs. */
    followed: () => [...connections].flatMap(({ options }) => [...(options.sessions?.keys() ?? [])]),
    append(session_id: string, count = 1) {
      const log = logs.get(session_id) ?? []
      logs.set(session_id, log)
      for (let n = 0; n < count; n++) {
        const event = { ...eventAt(log.length + 1, 'user.message', { content: 'x' }), session_id }
        log.push(event)
        for (const { options, send } of connections)
          if (options.sessions?.has(session_id)) send([{ type: 'event', event }])
      }
    },
    change(item: SharedItem) {
      for (const { options, send } of connections) if (options.changes) send([item])
    },
  }
}

/** A browser with one hub at a time, which any page opens again after it has ended. */
export function fakeBrowser(server: ReturnType<typeof fakeServer>) {
  let hub: Hub | null = null
  let time = 0
  const beats = new Set<() => void>()
  const openHub: OpenHub = ({ onMessage }) => {
    hub ??= createHub({ userId: 'u', stream: server.stream, now: () => time })
    const mine = hub
    const isUp = () => mine === hub
    // A message arrives later, and none of a hub that has ended.
    const port: HubPort = {
      postMessage: message => void Promise.resolve().then(() => isUp() && onMessage(message)),
    }
    return {
      post: wants => void Promise.resolve().then(() => isUp() && mine.receive(port, wants)),
      close: () => void Promise.resolve().then(() => isUp() && mine.drop(port)),
    }
  }
  return {
    page(isAlive = () => true): Subscriptions {
      return createSubscriptions(openHub, (_ms, beat) => {
        const call = () => isAlive() && beat()
        beats.add(call)
        return () => beats.delete(call)
      })
    },
    /** The worker dies, with its connections; no page is told. */
    endHub() {
      hub = null
    },
    async beat(times = 1, ms = 5000) {
      for (let n = 0; n < times; n++) {
        time += ms
        for (const beat of beats) beat()
        await settle()
      }
    },
  }
}

/** A page that shows a session: the ids and states it was given. */
export function watch(page: Subscriptions, session: string, after = 0) {
  const ids: number[] = []
  const states: string[] = []
  const failures: unknown[] = []
  const stop = page.followLog(session, after, {
    onItems: events => ids.push(...events.map(({ id }) => id)),
    onState: state => states.push(state),
    onFailed: error => failures.push(error),
  })
  return { ids, states, failures, stop }
}
