/** What one worker acts with. It is made once and handed to everything the worker starts. */
import type { HeldText, LogStore, Redact } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { Clock } from './clock.ts'
import type { Coding } from './code/coding.ts'
import type { WorkspaceCopies } from './workspace-copies.ts'
import type { Models } from './llm/registry.ts'
import type { Logger } from './logger.ts'
import type { Tool } from './tools/tool.ts'

/** For a name that is not among the tools: a tool of a server that has connected since, or its absence. */
export type FindTool = (name: string, signal: AbortSignal) => Promise<Tool | { absence: string } | null>

export type Runner = {
  id: string
  store: LogStore
  models: Models
  /** The built-in tools, and those of the MCP servers that are connected now. */
  tools(): readonly Tool[]
  /** `McpServers.find`. */
  findTool: FindTool
  config: Config
  dataDir: string
  workspacesDir: string
  skillsDir: string | undefined
  /** Makes the folder of a session below `root`, where there is none; returns its path. */
  makeFolder: (root: string, sessionId: string) => Promise<string>
  /** Null: no coding agent can run here. */
  coding: Coding | null
  /** Workspaces of workers that work in copies. */
  copies: WorkspaceCopies
  clock: Clock
  /** In [0, 1); the jitter of retries. */
  random: () => number
  newId: () => string
  logger: Logger
  /** What is recorded of a JSON text. */
  redact: Redact
  /** For a text that still grows: what may be written of it, and is not the beginning of a secret. */
  streamRedactor: () => HeldText
  /** Aborts when the worker is told to stop: what runs beside the turns ends with it. */
  shutdown: AbortSignal
  /** Resolves when this process has time to spare, after seconds at most: for what nobody waits for. */
  whenFree(): Promise<void>
  /** What goes on beside the turns; a shutdown and `idle` wait for it. */
  keepInBackground(running: Promise<void>): void
}
