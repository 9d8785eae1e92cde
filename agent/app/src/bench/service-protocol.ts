/** Messages between a benchmark and the process of its service. */
import type { ConfigInput } from '@cairn/protocol'
import { peakMemory } from '@cairn/tooling/peak-memory'

/** The relay's model, and the folder in which it stores what it relays; null: it stores nothing. */
export type RelayStart = { base_url: string; keep_in: string | null }
/** `database`: the URL of a Postgres store; absent: the embedded store in `dir`. */
export type ServiceStart = {
  dir: string
  config: ConfigInput
  env: Record<string, string>
  database?: string
}
/** CPU time of all threads since the start, and the peak memory of the process. */
export type ServiceUsage = { cpu_ms: number; peak_rss_mb: number }
export type ServiceReport = { url: string; token: string } | ServiceUsage

export function ownUsage(): ServiceUsage {
  const { user, system } = process.cpuUsage()
  return { cpu_ms: (user + system) / 1000, peak_rss_mb: peakMemory() / 2 ** 20 }
}
