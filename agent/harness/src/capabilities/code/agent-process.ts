/**
 * A coding agent as the runner sees it: a sandboxed process that speaks ACP on stdin and stdout. Starting it
 * returns functions that end it with everything that it started.
 */
import type { Readable, Writable } from 'node:stream'
import type { GovernanceConfig } from '@cairn/protocol'
import type { CodeRun } from '@cairn/state'
import type { Push, PushVerdict } from './git-broker.ts'

export type AgentProcess = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Resolves when the process has exited; `overran` is a sentence if a limit ended it. */
  exited: Promise<{ exitCode: number | null; signal: NodeJS.Signals | null; overran: string | null }>
  /** Asks everything in the sandbox to exit. */
  terminate(): void
  /** Ends everything in the sandbox; resolves when nothing runs any more. */
  close(): Promise<void>
}

/** Tokens as counted by the broker; `cost_usd` null: the model has no known rate. */
export type Used = {
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cost_usd: number | null
  model: string
}

export type StartedAgent = AgentProcess & {
  /** Absolute path inside the sandbox. */
  cwd: string
  /** Usage through the broker so far; null: not counted. */
  used(): Used | null
}

export type AgentStart = {
  run_id: string
  session_id: string
  agent: string
  /** `<provider>/<model>`. */
  model: string
  /** Absolute path of the session's workspace. */
  workspace: string
  /** Tools of the built-in agent that ask before each call. */
  ask: readonly string[]
  egress: GovernanceConfig['egress']
  /** The entry of `code.repos` and the run's branch; null: it works in the workspace. */
  repo: CodeRun['repo']
  /** Awaited when everything that it works in exists, before the agent runs. */
  onReady(): Promise<void>
  /** Called before anything is pushed to the repository. */
  onPush(push: Push, gone: AbortSignal): Promise<PushVerdict>
  /** Aborts if the run must end before it has a process. */
  signal: AbortSignal
}

/** The coding agents of a runner. */
export type CodingAgents = {
  /** Available names, the default first; empty: none can run here. */
  names: readonly string[]
  /** Why none can run; null: they can. */
  reason: string | null
  /** Names of the repositories that a run can work in. */
  repos: readonly string[]
  /** The model of `code.agents.<name>`, or else the session's. */
  modelOf(agent: string, fallback: string): string
  start(options: AgentStart): Promise<StartedAgent>
  /** Removes what a run kept between its processes. */
  forget(run: { session_id: string; run_id: string }): Promise<void>
}
