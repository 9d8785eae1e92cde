/** The dependencies of a runner. Created once and passed to everything that the runner starts. */
import type { StreamRedactor, LogStore, Redact } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import type { Coding } from './capabilities/code/coding.ts'
import type { Models } from '@cairn/models'
import type { Logger } from '@cairn/models/logger'
import type { FindTool, Tool } from './tools/tool.ts'
import type { FolderDeps } from './turn/folders.ts'

export type RunnerDeps = FolderDeps & {
  id: string
  store: LogStore
  models: Models
  /** The built-in tools, and those of the MCP servers that are connected now. */
  tools(): readonly Tool[]
  /** `McpServers.find`. */
  findTool: FindTool
  config: Config
  skillsDir: string | undefined
  /** Null: no coding agent can run here. */
  coding: Coding | null
  clock: Clock
  /** In [0, 1); the jitter of retries. */
  random: () => number
  newId: () => string
  logger: Logger
  /** Redacts a JSON text for recording. */
  redact: Redact
  /** For streamed text: returns the part that cannot be the start of a secret. */
  streamRedactor: () => StreamRedactor
  /** Aborts when the runner is asked to stop: background work ends with it. */
  shutdown: AbortSignal
  /** For background work: resolves when this process has spare capacity, after seconds at most. */
  whenFree(): Promise<void>
  /** Registers background work; a shutdown and `idle` wait for it. */
  keepInBackground(running: Promise<void>): void
}
