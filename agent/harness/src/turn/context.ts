/** Passed down through a turn: everything that its steps may access. */
import type { StreamRedactor, LogStore, Redact } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { AgentSetup } from '../governance/agent.ts'
import type { Clock } from '@cairn/models/clock'
import type { Lease } from './lease.ts'
import type { Logger } from '@cairn/models/logger'
import type { Models } from '@cairn/models'
import type { FindTool, Tool } from '../tools/tool.ts'
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
  /** Tools of MCP servers may change within a turn. */
  tools(): readonly Tool[]
  findTool: FindTool
  /** Connects the tools of the accounts of the person whose message the turn answers. */
  prepareTools(): Promise<void>
  /** Absolute paths of the session's workspace and of its checkpoint store. */
  workspace: string
  checkpoints: string
  /**
   * Arguments as the model wrote them, by call: the log has them redacted. Lost with the runner, as intended.
   */
  written: Map<string, string>
  /** For streamed text: returns the part that cannot be the start of a secret. */
  streamRedactor: () => StreamRedactor
  /** Redacts a JSON text for recording. */
  redact: Redact
  worker_id: string
  newId: () => string
  /** In [0, 1); the jitter of retries. */
  random: () => number
  /** True while the runner shuts down: no new iterations. */
  draining: () => boolean
  report: Logger
}
