/** Puts the client together: credentials, calls, streams. */
import type { SessionEvent } from '@cairn/protocol'
import type { Backoff } from './backoff.ts'
import { type InboxStream, inboxWith, type SessionStream, sessionChangesWith } from './changes.ts'
import { type Call, type CheckAnswer, callWith } from './call.ts'
import { type Credentials, sendWith } from './credentials.ts'
import { type SharedStream, sharedWith } from './shared.ts'
import { type EventStream, type WaitOptions, eventsWith, waitFor } from './events.ts'

export type ClientOptions = Credentials & {
  /** Of the service, without /v1; an empty string means the site the page came from. */
  baseUrl: string
  /** Ask below /v1/api wherever a route is served there. Default: true for a service-account token. */
  api?: boolean
  fetch?: typeof fetch
  credentials?: NonNullable<RequestInit['credentials']>
  headers?: Record<string, string>
  /** A stream without a byte for so long is dead. Default 25 s: the server sends one at least every 10 s. */
  idleMs?: number
  /** Waits between connections of a stream. Default from 1 s, doubling, up to 30 s. */
  backoff?: Backoff
  random?: () => number
}

export type CairnClient = {
  /**
   * One request of the route table. Throws ApiError when the server refuses, ConnectionError when none
   * answers.
   */
  call: Call
  /**
   * A session's log after a cursor, live, in batches; reconnects by itself. Throws ApiError for what cannot
   * be mended.
   */
  events: EventStream
  /** The first event the predicate accepts. */
  waitFor: <E extends SessionEvent>(
    sessionId: string,
    predicate: ((event: SessionEvent) => event is E) | ((event: SessionEvent) => boolean),
    options?: WaitOptions,
  ) => Promise<E>
  /** Live changes of the inbox. */
  inboxStream: InboxStream
  /** Live changes of sessions. */
  sessionStream: SessionStream
  /** Several logs, and the changes of sessions and inbox, over one connection. */
  sharedStream: SharedStream
}

export function assembleClient(options: ClientOptions, check: CheckAnswer): CairnClient {
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const api = options.api ?? (typeof options.token === 'string' && options.token.startsWith('cairn_sk_'))
  // Called as a method of nothing: browsers refuse a fetch that lost its window.
  const fetcher: typeof fetch = options.fetch ?? ((...args) => fetch(...args))
  const send = sendWith(options, fetcher, {
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
    headers: options.headers ?? {},
  })
  const tuning = {
    idleMs: options.idleMs ?? 25_000,
    backoff: options.backoff ?? { baseMs: 1000, maxMs: 30_000 },
    random: options.random ?? Math.random,
    now: Date.now,
  }
  const source = { baseUrl, send, apiByDefault: api, tuning }
  const events = eventsWith(baseUrl, send, api, tuning)
  return {
    call: callWith(baseUrl, send, api, tuning.now, check),
    events,
    waitFor: (sessionId, predicate, wait) => waitFor(events, sessionId, predicate, wait),
    inboxStream: inboxWith(source),
    sessionStream: sessionChangesWith(source),
    sharedStream: sharedWith(source),
  }
}
