/** Handed down through a turn: everything its steps touch, and nothing they could reach around it. */
import type { HeldText, LogStore, Redact } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { AgentSetup } from '../agent.ts'
import type { Clock } from '../clock.ts'
import type { Lease } from '../lease.ts'
import type { Logger } from '../logger.ts'
import type { Models } from '../llm/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { FindTool } from '../runner.ts'
import type { Capability } from './capability.ts'
import type { Asking } from './next-step.ts'
import type { Position } from './position.ts'
import type { SessionLog } from './session-log.ts'

export type TurnContext = {
  store: LogStore
  log: SessionLog
  lease: Lease
  clock: Clock
  config: Config
  limits: Config['limits']
  setup: AgentSetup
  models: Models
  /** Those of MCP servers come, go and change within a turn. */
  tools(): readonly Tool[]
  findTool: FindTool
  /** What the agent can do beside answering and calling tools, in the order in which it is asked. */
  capabilities: readonly Capability[]
  /** The same table as the decision sees it. */
  asking: readonly Asking[]
  /** Something in the log goes before the next call of the model. */
  goesFirst: (position: Position) => boolean
  /** Absolute path of the session's workspace, and of the store of its checkpoints. */
  workspace: string
  checkpoints: string
  /**
   * Arguments as the model wrote them, by call: the log has them with secrets taken out. Lost with the
   * worker, as it should be.
   */
  written: Map<string, string>
  /** For a text that still grows: what may be written of it, and is not the beginning of a secret. */
  streamRedactor: () => HeldText
  /** What is recorded of a JSON text. */
  redact: Redact
  worker_id: string
  newId: () => string
  /** In [0, 1); the jitter of retries. */
  random: () => number
  /** No new iterations: the worker shuts down. */
  draining: () => boolean
  report: Logger
}
