/**
 * How a client reaches its server: address, credentials, timeouts. Separate from the streams, which not every
 * page loads.
 */
import type { Backoff } from './backoff.ts'
import { type Credentials, type Send, sendWith } from './credentials.ts'

export type ClientOptions = Credentials & {
  /** Base URL of the service, without /v1; an empty string means the origin of the page. */
  baseUrl: string
  /** Use the paths below /v1/api where a route has one. Default: true for a service-account token. */
  api?: boolean
  fetch?: typeof fetch
  credentials?: NonNullable<RequestInit['credentials']>
  headers?: Record<string, string>
  /** Idle timeout of a stream. Default 25 s: the server sends at least one byte every 10 s. */
  idleMs?: number
  /** Delays between connections of a stream. Default: from 1 s, doubling, up to 30 s. */
  backoff?: Backoff
  random?: () => number
}
type StreamTuning = { idleMs: number; backoff: Backoff; random: () => number; now: () => number }
/** What a client's calls and streams share. */
export type Source = { baseUrl: string; send: Send; apiByDefault: boolean; tuning: StreamTuning }

export function sourceOf(options: ClientOptions): Source {
  // A plain call: browsers reject a fetch that is called as a method of another object.
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
