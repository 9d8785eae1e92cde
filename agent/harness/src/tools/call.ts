/** A call of a tool, and all that running it touches. */
import type { Draft, Grant, Redact } from '@cairn/log'
import type { GovernanceConfig } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import type { OpenGates } from '../governance/open-gates.ts'
import type { CallSteps } from './call-steps.ts'
import type { Linked, Tool } from './tool.ts'

/** A call as the model made it; an OpenCall of the conversation is one. */
export type Call = { tool_call_id: string; name: string; /** JSON text. */ arguments: string }

export type CallToolDeps = {
  session_id: string
  turn_id: string
  iteration_index: number
  /** Absolute path of an existing folder. */
  workspace: string
  /** Store of checkpoints, outside every workspace; null: none are kept. */
  checkpoints: string | null
  tools: ReadonlyMap<string, Tool>
  /** Why tools that were called are not among them, by name, where that is known. */
  absences: ReadonlyMap<string, string>
  policy: GovernanceConfig
  agentTools: readonly string[] | undefined
  /** `governance.log_allowed`. */
  logAllowed: boolean
  /** What a running saga writes beside a call and its result. */
  saga: CallSteps
  timeoutMs: number
  signal: AbortSignal
  clock: Clock
  newId: () => string
  /** Already fenced by the caller; rejects when the lease is gone. */
  commit(events: readonly Draft[], linked?: Linked): Promise<unknown>
  /** LogStore.findGrant of this session. */
  findGrant(tool: string, argumentsHash: string): Promise<Grant | null>
  gates: OpenGates
  /** The store's: what is shown of arguments is what is recorded of them. */
  redact: Redact
}

export type CallOutcome = {
  tool_call_id: string
  name: string
  status: 'ok' | 'failed' | 'refused' | 'gated' | 'suspended'
  /** As the model reads it; null while suspended. */ content: string | null
}
