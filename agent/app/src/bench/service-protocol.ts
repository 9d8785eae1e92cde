/** What a benchmark and the process of its service say to each other. */
import type { ConfigInput } from '@cairn/protocol'

/** Where the relay finds its model, and the folder in which it keeps what it passes on; null: it does not. */
export type RelayStart = { base_url: string; keep_in: string | null }
export type ServiceStart = { dir: string; config: ConfigInput; env: Record<string, string> }
/** CPU of all threads since the start, and the most memory that the process had so far. */
export type ServiceUsage = { cpu_ms: number; peak_rss_mb: number }
export type ServiceReport = { url: string; token: string } | ServiceUsage

export function ownUsage(): ServiceUsage {
  const { user, system } = process.cpuUsage()
  return { cpu_ms: (user + system) / 1000, peak_rss_mb: process.resourceUsage().maxRSS / 1024 }
}
