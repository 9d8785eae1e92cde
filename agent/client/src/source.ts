/** How a client reaches its server: address, credentials, waits. Apart from the streams, which not all load. */
import type { Backoff } from './backoff.ts'
import { type Credentials, type Send, sendWith } from './credentials.ts'

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
type StreamTuning = { idleMs: number; backoff: Backoff; random: () => number; now: () => number }
/** What the calls and streams of a client share. */
export type Source = { baseUrl: string; send: Send; apiByDefault: boolean; tuning: StreamTuning }

export function sourceOf(options: ClientOptions): Source {
  // Called as a method of nothing: browsers refuse a fetch that lost its window.
  const fetcher: typeof fetch = options.fetch ?? ((...args) => fetch(...args))
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    apiByDefault: options.api ?? (typeof options.token === 'string' && options.token.startsWith('cairn_sk_')),
    send: sendWith(options, fetcher, {
      ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
      headers: options.headers ?? {},
    }),
    tuning: {
      idleMs: options.idleMs ?? 25_000,
      backoff: options.backoff ?? { baseMs: 1000, maxMs: 30_000 },
      random: options.random ?? Math.random,
      now: Date.now,
    },
  }
}
