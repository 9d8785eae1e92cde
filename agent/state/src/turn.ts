/**
 * The position of a session in its turn, as a fold of the log: what a runner needs to take over, and what the
 * guards of the turn (budget, loops, empty answers, recovery) count (contract 7, 8).
 *
 * A turn begins with the first user message after the previous one ended, or with the harness.wake for other
 * work, and ends with session.complete, session.fail, session.stopped, or the continuation of a goal or a
 * mission. A pause interrupts it: after the resume it continues under the same turn_id.
 */
import { type EventOf, factsOf, isBlank, type SessionEvent, toolError } from '@cairn/protocol'
import { addUsage, NO_USAGE, type Usage, usageOf } from './usage.ts'
import { append, changeLast, type Owned } from './conversation/owned.ts'
import { isReviewWake } from './capabilities/review.ts'

export type TurnState = {
  /** Null between turns and before the first model call. */
  readonly turn_id: string | null
  /** Index of the next iteration, or of the running one (`requested`). */
  readonly next_iteration: number
  /** An llm.request without its response. */
  readonly requested: boolean
  /** The turn has started: a message arrived, or a runner woke up for other work. */
  readonly begun: boolean
  /** Usage of the turn's model calls. */
  readonly usage: Usage
  /** Consecutive completely empty answers. */
  readonly empty_answers: number
  /** The model that this turn escalated to. */
  readonly escalated_model: string | null
  /** Finished calls of the turn, oldest first, as input of the loop detector. */
  readonly calls: readonly { tool_call_id: string; name: string; arguments: string; content: string }[]
  readonly artifacts: readonly { artifact_id: string; name: string }[]
  readonly files: readonly string[]
  /** Recoveries and crashes since the log last progressed (an answer, a result, a message). */
  readonly recoveries: number
  readonly crashes: readonly string[]
  readonly compactions: number
}

const idle = {
  turn_id: null,
  next_iteration: 0,
  requested: false,
  begun: false,
  usage: NO_USAGE,
  empty_answers: 0,
  escalated_model: null,
  calls: [],
  artifacts: [],
  files: [],
  compactions: 0,
} as const
export const emptyTurn: TurnState = { ...idle, recoveries: 0, crashes: [] }

export const foldTurn = (turn: TurnState, event: SessionEvent): TurnState => foldTurnInto(null, turn, event)

/** Like foldTurn, for folding many events when only the final state is needed. */
export function foldTurnInto(owned: Owned, turn: TurnState, event: SessionEvent): TurnState {
  const next = move(owned, turn, event)
  // Between turns, the background review and stopped coding agents also report usage.
  return factsOf(event.type).usage && turn.begun && !isOfReview(event)
    ? { ...next, usage: addUsage(next.usage, usageOf(event)) }
    : next
}

function move(owned: Owned, turn: TurnState, event: SessionEvent): TurnState {
  switch (event.type) {
    case 'user.message':
      return { ...turn, begun: true, ...moved }
    // The outcome of a worker or a blocked task starts a turn without a message.
    case 'harness.wake':
      return turn.begun || isReviewWake(event) ? turn : { ...turn, begun: true }
    case 'llm.request': {
      const { turn_id, iteration_index } = event.data
      return { ...turn, turn_id, next_iteration: iteration_index, requested: true }
    }
    case 'llm.response':
      return event.data.turn_id === undefined ? turn : { ...turn, ...answered(turn, event), ...moved }
    case 'tool.call': {
      const { name, arguments: args } = event.data
      return {
        ...turn,
        calls: append(turn.calls, [toCall(event)], owned),
        files: fileOf(name, args, turn.files),
      }
    }
    case 'tool.result': {
      const { tool_call_id, content } = event.data
      const isOf = (call: Call): boolean => call.tool_call_id === tool_call_id
      return { ...turn, calls: changeLast(turn.calls, isOf, call => ({ ...call, content }), owned), ...moved }
    }
    case 'artifact.created': {
      const { artifact_id, name } = event.data
      return { ...turn, artifacts: append(turn.artifacts, [{ artifact_id, name }], owned) }
    }
    case 'context.compact':
      return { ...turn, compactions: turn.compactions + 1, calls: withoutOldTexts(turn.calls) }
    case 'session.model_escalated':
      return { ...turn, escalated_model: event.data.model, empty_answers: 0 }
    case 'harness.recovered':
      return { ...turn, recoveries: turn.recoveries + 1 }
    case 'harness.crash':
      return { ...turn, crashes: [...turn.crashes, event.data.error] }
    // A retry resets the guards, and a message that came during a pause starts a new turn.
    case 'session.resume':
      return { ...turn, ...moved }
    // A continuation of a goal is a separate turn with a fresh budget.
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
    case 'outcome.continuation':
    case 'mission.continuation':
      return { ...emptyTurn }
    default:
      return turn
  }
}

/** A person may write while the background review runs; the review's usage does not belong to their turn. */
const isOfReview = ({ type }: SessionEvent): boolean => type === 'inbox.task_complete'

type Call = TurnState['calls'][number]

const toCall = ({ data: { tool_call_id, name, arguments: args } }: EventOf<'tool.call'>): Call => ({
  tool_call_id,
  name,
  arguments: JSON.stringify(args),
  content: '',
})

function answered(
  turn: TurnState,
  { data: { message, iteration_index } }: EventOf<'llm.response'>,
): Pick<TurnState, 'requested' | 'next_iteration' | 'empty_answers'> {
  const isEmpty = isBlank(message.content) && !message.tool_calls?.length
  return {
    requested: false,
    next_iteration: (iteration_index ?? turn.next_iteration) + 1,
    empty_answers: isEmpty ? turn.empty_answers + 1 : 0,
  }
}

/** More than the loop detector compares and than one answer calls. */
const WHOLE_CALLS = 32
const MAX_ARGUMENT_CHARS = 4096

/**
 * A turn may outlast many compactions, and its calls with it. Of old calls only what a recap shows is kept
 * (tool, target, failure), not the content written or read.
 */
function withoutOldTexts(calls: TurnState['calls']): TurnState['calls'] {
  const old = calls.length - WHOLE_CALLS
  return old <= 0 ? calls : [...calls.slice(0, old).map(withoutTexts), ...calls.slice(old)]
}

const withoutTexts = (call: Call): Call => ({
  ...call,
  arguments: call.arguments.length <= MAX_ARGUMENT_CHARS ? call.arguments : shortened(call.arguments),
  content: toolError(call.content) === null ? '' : '{"error":""}',
})

const shortened = (text: string): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(JSON.parse(text) as Record<string, unknown>).flatMap(([key, value]) =>
        typeof value === 'string' ? [[key, value.slice(0, MAX_ARGUMENT_CHARS)]] : [],
      ),
    ),
  )

const moved = { recoveries: 0, crashes: [] } as const

const WRITES = new Set(['write_file', 'edit_file'])
const fileOf = (name: string, args: Record<string, unknown>, files: readonly string[]): readonly string[] =>
  WRITES.has(name) && typeof args['path'] === 'string' && !files.includes(args['path'])
    ? [...files, args['path']]
    : files
