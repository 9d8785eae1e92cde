/** The inputs of a start of the service, and the running service. */
import type { SandboxStatus } from '@cairn/sandbox'
import type { Redact } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { EffectiveConfig } from '../config/effective-config.ts'
import type { ConfigSource } from '../config/parse-config.ts'
import type { Database } from '../local/open-store.ts'
import type { Logger } from './logging.ts'

/** Roles of a process on a shared database: it serves requests, runs turns, or does both. */
export const ROLES = ['all', 'api', 'worker'] as const
export type Role = (typeof ROLES)[number]

export type ServiceOptions = EffectiveConfig & {
  /** cairn.yaml as given, before defaults of models; absent: `config`. */
  given?: Config
  source?: ConfigSource
  env: Readonly<Record<string, string | undefined>>
  dataDir: string
  /** Contains a folder per session in which its tools work. Separate from the data directory. */
  workspacesDir: string
  /** A session's folder may be a symbolic link chosen by a local client; tools work in its target. */
  linkedWorkspaces?: true
  /** Extra environment of the commands that agents run. */
  commandEnv?: Readonly<Record<string, string>>
  /** Null: the embedded store in the data directory. */
  database: Database | null
  role: Role
  /** The base of relative paths in the configuration. */
  configDir: string
  host: string
  port: number
  createLog: (redact: Redact) => Logger
}
export type Service = {
  url: string
  /** Logs in the first admin, once. */
  loginUrl: string
  /** The sandbox of commands; null if this process runs none. */
  sandbox: SandboxStatus | null
  log: Logger
  /**
   * Waits up to `limits.drain_s` for running iterations, releases leases, ends streams and closes the store.
   */
  stop(): Promise<void>
}
