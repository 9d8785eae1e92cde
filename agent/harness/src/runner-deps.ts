/** The dependencies of a runner. Created once and passed to everything that the runner starts. */
import type { StreamRedactor, LogStore, Redact, SessionRow } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import type { Coding } from './capabilities/code/coding.ts'
import type { Models } from '@cairn/models'
import type { Logger } from '@cairn/models/logger'
import type { AccountOwner } from './tools/account-owner.ts'
import type { FindTool, Tool } from './tools/tool.ts'
import type { FolderDeps } from './turn/folders.ts'

/** A skill that is in no directory has no files. */
type AddedSkill = {
  name: string
  description: string
  body: string
  directory: string
  files: readonly string[]
}

/** What a session runs with: its organisation may have changed the configuration. */
export type SessionScope = {
  /** Replaces those of the runner; the tools come before it. */
  parts: Partial<
    Pick<
      RunnerDeps,
      'config' | 'models' | 'tools' | 'findTool' | 'prepareTools' | 'skills' | 'streamRedactor'
    >
  >
  /** The version of the agent with which the session began; undefined: it has no versions. */
  agent_version: number | undefined
  /** Keeps the parts usable for longer; call the result when they are no longer used. */
  hold(): () => void
  /** The session no longer uses the parts. */
  release(): void
}

export type RunnerDeps = FolderDeps & {
  id: string
  store: LogStore
  models: Models
  /** The built-in tools, and those of the MCP servers that are connected now, with the owner's accounts. */
  tools(owner?: AccountOwner): readonly Tool[]
  /** `McpServers.find`. */
  findTool(...[name, signal, owner]: [...Parameters<FindTool>, AccountOwner?]): ReturnType<FindTool>
  /** `McpServers.prepare`. */
  prepareTools(owner: AccountOwner, signal: AbortSignal): Promise<void>
  config: Config
  skillsDir: string | undefined
  /** Skills besides those of the directory, which win by name. */
  skills?: ReadonlyMap<string, AddedSkill>
  /** What a session runs with, fixed when it is claimed; absent: everything as above. */
  scopeOf?: ((session: SessionRow) => Promise<SessionScope>) | undefined
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
