/** What the parts of the channels share. */
import type { ChannelConnection, ConnectionState, LogStore } from '@cairn/log'
import type { ChannelConfig, DisclosureConfig } from '@cairn/protocol'
import type { Adapter } from './adapter.ts'
import type { Pace } from './pace.ts'

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
  disclosure: Omit<DisclosureConfig, 'require_confirm'>
  agent: string
  /** That answers, as the disclosure names it. */
  model: string
  adapter: Adapter
  pace: Pace
  /** Nothing goes out before: the platform has said that it is too much. */
  pause: { until: number }
  /** As the store said at the last look. */
  health: { state: ConnectionState }
}
