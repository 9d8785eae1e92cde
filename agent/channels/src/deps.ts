/** What the parts of the channels share. */
import type { ChannelConnection, ConnectionState, LogStore } from '@cairn/log'
import type { ChannelConfig, DisclosureConfig } from '@cairn/protocol'
import type { Adapter } from './adapter.ts'
import type { Pace } from './pace.ts'
import type { Env } from './platforms.ts'

type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

export type ChannelDeps = {
  store: LogStore
  /** Epoch milliseconds. */
  now: () => number
  newId: () => string
  /** In [0, 1): jitter. */
  random: () => number
  /** Holds a folder for each session. */
  workspacesDir: string
  /** Waits for a part's place among those of its conversation. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>
  /** The agents that the configuration knows. */
  agents: readonly string[]
  report: Report
}

/** A connection as this process runs it. */
export type Connection = Pick<
  ChannelConnection,
  'id' | 'org_id' | 'name' | 'platform' | 'service_account_id'
> & {
  settings: ChannelConfig
  /** Holds its secrets, by the names in the settings. */
  env: Env
  disclosure: Omit<DisclosureConfig, 'require_confirm'>
  agent: string
  /** Of its settings and secrets. */
  fingerprint: string
  /** Under which people reach the web UI; null: nobody said. */
  publicUrl: string | null
  /** That answers, as the disclosure names it. */
  model: string
  adapter: Adapter
  pace: Pace
  /** Nothing goes out before: the platform has said that it is too much. */
  pause: { until: number }
  /** As the store said at the last look. */
  health: { state: ConnectionState }
}
