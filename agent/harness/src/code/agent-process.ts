/**
 * A coding agent as the worker has it: a process that speaks ACP on its stdin and stdout, in a box of its
 * own. Whoever starts it returns how to end it with everything that it started.
 */
import type { Readable, Writable } from 'node:stream'
import type { GovernanceConfig } from '@cairn/protocol'
import type { CodeRun } from '@cairn/state'
import type { Push, PushVerdict } from './git-broker.ts'

export type AgentProcess = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** The process is over; a sentence where it was ended for a limit. */
  exited: Promise<{ exitCode: number | null; signal: NodeJS.Signals | null; overran: string | null }>
  /** Asks everything in the box to end. */
  terminate(): void
  /** Ends everything in the box, and resolves when nothing of it runs any more. */
  close(): Promise<void>
}

/** Tokens as the broker counted them; `cost_usd` null: no rate is known for the model. */
export type Used = {
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cost_usd: number | null
  model: string
}

export type StartedAgent = AgentProcess & {
  /** Absolute, as the agent sees it. */
  cwd: string
  /** What went through the broker so far; null: nobody counts. */
  used(): Used | null
}

export type AgentStart = {
  run_id: string
  session_id: string
  agent: string
  /** `<provider>/<model>`. */
  model: string
  /** Absolute; of the session. */
  workspace: string
  /** Tools of the built-in agent that ask before each call. */
  ask: readonly string[]
  egress: GovernanceConfig['egress']
  /** Of `code.repos`, to work in, on this branch of its own; null: it works in the workspace. */
  repo: CodeRun['repo']
  /** Awaited when all that it works in is there, before anything of the agent runs. */
  onReady(): Promise<void>
  /** Asked before anything is pushed to it. */
  onPush(push: Push, gone: AbortSignal): Promise<PushVerdict>
  /** Aborts where the run is to end before it has a process. */
  signal: AbortSignal
}

/** The coding agents of a worker. */
export type CodingAgents = {
  /** Names that can be asked for, the default first; empty: none can run here. */
  names: readonly string[]
  /** Why none can run; null: they can. */
  reason: string | null
  /** Repositories that a run can work in, by name. */
  repos: readonly string[]
  /** Of `code.agents.<name>` or the session's model. */
  modelOf(agent: string, fallback: string): string
  start(options: AgentStart): Promise<StartedAgent>
  /** What a run kept between its processes is removed. */
  forget(run: { session_id: string; run_id: string }): Promise<void>
}
