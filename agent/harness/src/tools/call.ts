/** A tool call, and everything that running it touches. */
import type { EventWithRows, Redact } from '@cairn/log'
import type { GovernanceConfig } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import type { Approval } from '@cairn/sessions'
import type { OpenGates } from '../governance/open-gates.ts'
import type { CallSteps } from './call-steps.ts'
import type { AskPerson, Linked, Tool } from './tool.ts'

/** A call as made by the model; an OpenCall of the conversation is one. */
export type Call = { tool_call_id: string; name: string; /** JSON text. */ arguments: string }

export type CallToolDeps = {
  session_id: string
  turn_id: string
  iteration_index: number
  /** Absolute path of an existing folder. */
  workspace: string
  /** Store of checkpoints, outside all workspaces; null: none are stored. */
  checkpoints: string | null
  tools: ReadonlyMap<string, Tool>
  /** Known reasons why called tools are missing, by name. */
  absences: ReadonlyMap<string, string>
  policy: GovernanceConfig
  agentTools: readonly string[] | undefined
  /** `governance.log_allowed`. */
  logAllowed: boolean
  /** What a running saga records with a call and its result. */
  saga: CallSteps
  timeoutMs: number
  signal: AbortSignal
  clock: Clock
  newId: () => string
  /** Fenced by the caller; rejects when the lease is lost. */
  commit(events: readonly EventWithRows[], linked?: Linked): Promise<unknown>
  /** The approval of exactly that call in this session. */
  findGrant(tool: string, argumentsHash: string): Promise<Approval | null>
  gates: OpenGates
  /** Asks the person of the session on behalf of a call; absent: no person can be asked here. */
  askFor?: (toolCallId: string) => AskPerson
  /** The store's redactor, so that arguments are shown as they are recorded. */
  redact: Redact
}

export type CallOutcome = {
  tool_call_id: string
  name: string
  status: 'ok' | 'failed' | 'refused' | 'gated' | 'suspended'
  /** As the model reads it; null while suspended. */ content: string | null
}
