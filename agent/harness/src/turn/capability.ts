/**
 * A capability of the agent as the turn sees it. The turn gets an ordered table of them
 * (`../capabilities/index.ts`) and knows none by name; a capability imports only types of the turn.
 *
 * Its part of the log is a row of CAPABILITY_FOLDS in @cairn/state; this is what it does with that. The turn
 * asks the rows in order at these points, and the first with due work gets it:
 *
 *   first           before everything else
 *   at_rest         nothing needs an answer: is there something to finish?
 *   before_request  the model would be called next
 *   at_end          the turn would end
 *
 * The runner calls it around the turn: `atClaim` before, `afterTurn` when the session rests again.
 */
import type { EventWithRows, Link, RowChange, SessionRow } from '@cairn/log'
import type { EventId } from '@cairn/protocol'
import type { AgentSetup } from '../governance/agent.ts'
import type { Lease } from './lease.ts'
import type { ModelError } from '@cairn/models'
import type { Logger } from '@cairn/models/logger'
import type { CallSteps } from '../tools/call-steps.ts'
import type { Tool } from '../tools/tool.ts'
import type { Asking, Asks, FinishReason } from './asks.ts'
import type { TurnContext } from './context.ts'
import type { Folders } from './folders.ts'
import type { Position } from './position.ts'
import type { SessionLog } from './session-log.ts'

/** A session as a runner has it around a turn. */
export type Claimed = {
  /** The session when it was claimed; the log has its current state. */
  session: SessionRow
  /** The link to its parent; null for a root. */
  link: Link | null
  lease: Lease
  log: SessionLog
  report: Logger
  makeFolders(): Promise<Folders>
}

/** Work that goes before everything else in a claimed session. It must end, whatever happens. */
export type ClaimWork = {
  /** Pure. */
  isDue(position: Position): boolean
  /** Ends with the lease released, or with `draining`: then another runner continues. */
  act(claimed: Claimed): Promise<'done' | 'draining'>
}

/** What a capability adds to the last commit of a turn: before and after the turn's own events. */
export type Ending = {
  before?: readonly EventWithRows[]
  after?: readonly EventWithRows[]
  rows?: readonly RowChange[]
}

/** A session that comes to rest: within a turn, or because no turn could continue. */
export type Resting = Pick<TurnContext, 'log' | 'store' | 'newId'>

/** Settings that a capability binds for its decisions; they are independent of the session's position. */
export type AskSettings = Pick<TurnContext, 'setup' | 'clock' | 'models' | 'tools' | 'limits'>

/** The result of acting: the turn decides again, or does what is requested here. */
type EndingOutcome =
  | { next: 'look' }
  /** Nothing can be done now: the lease is released, and the turn continues at the next claim. */
  | { next: 'wait' }
  /** The session fails, to be retried if the error allows it. */
  | { next: 'fail'; error: ModelError; message: string }
  /** This turn is summed up and over; the events end it, and `cursor` is the last event that it handled. */
  | { next: 'end_turn'; events: readonly EventWithRows[]; cursor: EventId }

export type OverflowSaid = 'too_long' | 'no_cause'

/** `D` is the due work, as data; it is decided in `asks` and done in `act`. */
export type Capability<D = unknown> = {
  readonly name: string
  /** A draining runner leaves this work to the next one. */
  readonly handsOver?: boolean
  /**
   * Pending work to do before anything else in the claimed session; the agent may no longer be configured.
   */
  readonly atClaim?: ClaimWork
  asks?(settings: AskSettings): Asks<D>
  /** Does the due work; `before` joins its first commit. */
  act?(turn: TurnContext, due: D, before: readonly EventWithRows[]): Promise<EndingOutcome>
  /** Called before each model call; `before` as in `act`. */
  beforeRequest?(turn: TurnContext, before: readonly EventWithRows[]): Promise<void>
  /** What is added to the commits of an answer's calls. */
  callSteps?(turn: TurnContext): CallSteps | null
  /**
   * The server refused the request as too long, or without naming a cause: the length may be the cause then,
   * too. Returns true if the request is shorter now.
   */
  onOverflow?(turn: TurnContext, said: OverflowSaid): Promise<boolean>
  /** Called after the model answered. */
  onAnswer?(turn: TurnContext): void
  /** The session comes to rest while its turn is open: it waits, it fails, or nothing is left to do. */
  onRest?(resting: Resting): Promise<Ending>
  onEnd?(turn: TurnContext, reason: FinishReason): Promise<Ending>
  /** The agent with this capability's part of the system prompt. */
  setUp?(setup: AgentSetup): Promise<AgentSetup>
  /** Tools in addition to the service's; `given` are those of earlier rows. */
  tools?(setup: AgentSetup, given: readonly Tool[]): readonly Tool[]
  /** Background work after the session's turn; null: none. Never rejects. */
  afterTurn?(claimed: Claimed): Promise<void> | null
}

/** A turn with its capabilities. A capability is given the context alone. */
export type Turn = TurnContext & {
  /** The agent's capabilities, in the order in which they are asked. */
  capabilities: readonly Capability[]
  /** The same table as the decision sees it. */
  asking: readonly Asking[]
  /** Whether something in the log goes before the next model call. */
  goesFirst: (position: Position) => boolean
}
