/**
 * A capability of the agent as the turn sees it. The turn is handed an ordered table of them
 * (`../capabilities.ts`) and knows none by name; a capability takes nothing of the turn but types.
 *
 * What it keeps of the log is a row of CAPABILITY_FOLDS in @cairn/state. Here is what it does with it. The
 * turn asks the table, in order, at these moments; the first that wants something gets it:
 *
 *   first           before anything else is looked at
 *   at_rest         nothing asks for an answer: whether something must still be brought to an end
 *   before_request  the model would be called next
 *   at_end          the turn would end
 *
 * The worker asks it around the turn: `atClaim` before there is one, `afterTurn` when the session rests
 * again.
 */
import type { Draft, Link, RowChange, SessionRow } from '@cairn/log'
import type { EventId } from '@cairn/protocol'
import type { AgentSetup } from '../agent.ts'
import type { Lease } from '../lease.ts'
import type { ModelError } from '../llm/provider.ts'
import type { Logger } from '../logger.ts'
import type { CallSteps } from '../tools/call-steps.ts'
import type { Tool } from '../tools/tool.ts'
import type { TurnContext } from './context.ts'
import type { FinishReason } from './next-step.ts'
import type { Position } from './position.ts'
import type { SessionLog } from './session-log.ts'

/** Absolute paths of the session's workspace, and of the store of its checkpoints. */
export type Folders = { workspace: string; checkpoints: string }

/** A session as a worker has it around a turn. */
export type Claimed = {
  /** As it was claimed; the log has it as it is now. */
  session: SessionRow
  /** What ties it to its parent; null for a root. */
  link: Link | null
  lease: Lease
  log: SessionLog
  report: Logger
  makeFolders(): Promise<Folders>
}

/** Work that goes before everything else in a claimed session. It must come to an end whatever happens. */
type ClaimWork = {
  /** Pure. */
  isDue(position: Position): boolean
  /** Ends with the lease given back, or with `draining`: then another worker goes on. */
  act(claimed: Claimed): Promise<'done' | 'draining'>
}

/** What a capability wants, decided from the position alone: pure, with its settings bound. */
export type Asks<D> = {
  first?(position: Position): D | null
  at_rest?(position: Position): FinishReason | null
  /** The turn is over although the model could be called again. */
  isOver?(position: Position): FinishReason | null
  /** The next call has no tools and must answer. */
  isLast?(position: Position): boolean
  before_request?(position: Position, request: { with_tools: boolean }): D | null
  at_end?(position: Position, reason: FinishReason): D | null
}

/** What a capability adds to the last commit of a turn: before the turn's own events, and behind them. */
export type Ending = {
  before?: readonly Draft[]
  after?: readonly Draft[]
  rows?: readonly RowChange[]
}

/** A session that comes to rest: in a turn, or because no turn of it could go on. */
export type Resting = Pick<TurnContext, 'log' | 'store' | 'newId'>

/** What a capability binds into what it asks; nothing of it says where the session stands. */
export type AskSettings = Pick<TurnContext, 'setup' | 'clock' | 'models' | 'tools' | 'limits'>

/** What comes of acting: the turn looks again, or does what is asked of it here. */
type EndingOutcome =
  | { next: 'look' }
  /**
   * Nothing can be done before something else happens: the lease goes back, and the turn goes on at the next
   * claim.
   */
  | { next: 'wait' }
  /** The session fails, to be tried again if the error can be. */
  | { next: 'fail'; error: ModelError; message: string }
  /** This turn is summed up and over; the events end it, and `cursor` is what it has dealt with. */
  | { next: 'end_turn'; events: readonly Draft[]; cursor: EventId }

/** `D` is what is due, as data; it is decided in `asks` and done in `act`. */
export type Capability<D = unknown> = {
  readonly name: string
  /** A draining worker leaves what is due here to the next one. */
  readonly handsOver?: boolean
  /**
   * What is owed before the claimed session does anything else; the agent need not be configured any more.
   */
  readonly atClaim?: ClaimWork
  asks?(settings: AskSettings): Asks<D>
  /** Does what was due; `before` goes into its first commit. */
  act?(turn: TurnContext, due: D, before: readonly Draft[]): Promise<EndingOutcome>
  /** Before each call of the model; `before` as in `act`. */
  beforeRequest?(turn: TurnContext, before: readonly Draft[]): Promise<void>
  /** What accompanies the calls of one answer into their commits. */
  callSteps?(turn: TurnContext): CallSteps | null
  /** The server refused the request as too long: true when it is shorter now. */
  onOverflow?(turn: TurnContext): Promise<boolean>
  /** The model answered. */
  onAnswer?(turn: TurnContext): void
  /** The session comes to rest while its turn is open: it waits, it fails, or nothing is left to do. */
  onRest?(resting: Resting): Promise<Ending>
  onEnd?(turn: TurnContext, reason: FinishReason): Promise<Ending>
  /** The agent with what the capability says in its system prompt. */
  setUp?(setup: AgentSetup): Promise<AgentSetup>
  /** Tools beside those the service has; `given` is what stands before it in the table. */
  tools?(setup: AgentSetup, given: readonly Tool[]): readonly Tool[]
  /** What goes on beside the session once its turn is over; null: nothing. Never rejects. */
  afterTurn?(claimed: Claimed): Promise<void> | null
}
