/** Dependencies shared by the modules of the channels. */
import type { ChannelConnection, ConnectionState, LogStore } from '@cairn/log'
import type { ChannelConfig, DisclosureConfig } from '@cairn/protocol'
import type { Adapter } from './adapter.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { Env } from './platforms.ts'

type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

export type ChannelDeps = {
  store: LogStore
  /** Epoch milliseconds. */
  now: () => number
  newId: () => string
  /** In [0, 1), for jitter. */
  random: () => number
  /** Holds a folder for each session. */
  workspacesDir: string
  /** Waits until the rate limits of the conversation allow a part. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>
  report: Report
}

/** A connection as this process runs it. */
export type Connection = Pick<
  ChannelConnection,
  'id' | 'org_id' | 'name' | 'platform' | 'service_account_id'
> & {
  settings: ChannelConfig
  /** The secrets, by their names in the settings. */
  env: Env
  disclosure: Omit<DisclosureConfig, 'require_confirm'>
  agent: string
  /** Hash of its settings and secrets. */
  fingerprint: string
  /** Public address of the web UI; null if not configured. */
  publicUrl: string | null
  /** The model that answers, as named in the disclosure. */
  model: string
  adapter: Adapter
  limiter: RateLimiter
  /** Nothing is sent before this time: the platform has reported a rate limit. */
  pause: { until: number }
  /** Since when this process receives its events, in epoch milliseconds. */
  consuming: { since: number }
  /** The state last read from the store. */
  health: { state: ConnectionState }
}
