/**
 * Where a session stands in its turn, as a fold of the log: what a worker that takes over needs to go on, and
 * what the guards of the turn (budget, loops, empty answers, recovery) count (contract 7, 8).
 *
 * A turn begins with the first user message after the former one ended and ends with session.complete,
 * session.fail, session.stopped, or the continuation of a goal. A pause interrupts it: after the resume it
 * goes on under the same turn_id.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'
import { append, changeLast, type Owned } from './owned.ts'

export type TurnUsage = { input_tokens: number; output_tokens: number; cost_usd: number }
export type TurnState = {
  /** Null between turns and before the first call of the model. */
  readonly turn_id: string | null
  /** Index of the iteration that comes next, or is running (`requested`). */
  readonly next_iteration: number
  /** An llm.request without its response. */
  readonly requested: boolean
  /** The message that began the turn, and the last one that steers it; 0 when there is none. */
  readonly first_message_id: EventId
  readonly last_message_id: EventId
  /** First and last event ids the turn has written. */
  readonly started_at: string | null
  readonly usage: TurnUsage
  /** Answers in a row that were empty in every way. */
  readonly empty_answers: number
  /** The model escalated to within this turn. */
  readonly escalated_model: string | null
  /** Finished calls of the turn, oldest first: what the loop detector compares. */
  readonly calls: readonly { tool_call_id: string; name: string; arguments: string; content: string }[]
  readonly artifacts: readonly { artifact_id: string; name: string }[]
  readonly files: readonly string[]
  /** Recoveries and crashes since the log last moved forward (an answer, a result, a message). */
  readonly recoveries: number
  readonly crashes: readonly string[]
  readonly compactions: number
}

const idle = {
  turn_id: null,
  next_iteration: 0,
  requested: false,
  first_message_id: 0,
  last_message_id: 0,
  started_at: null,
  usage: { input_tokens: 0, output_tokens: 0, cost_usd: 0 },
  empty_answers: 0,
  escalated_model: null,
  calls: [],
  artifacts: [],
  files: [],
  compactions: 0,
} as const
export const emptyTurn: TurnState = { ...idle, recoveries: 0, crashes: [] }

export const foldTurn = (turn: TurnState, event: SessionEvent): TurnState => foldTurnInto(null, turn, event)

/** As foldTurn, for a fold of many events that keeps only its end. */
export function foldTurnInto(owned: Owned, turn: TurnState, event: SessionEvent): TurnState {
  switch (event.type) {
    case 'user.message':
      return {
        ...turn,
        first_message_id: turn.first_message_id || event.id,
        last_message_id: event.id,
        started_at: turn.started_at ?? event.created_at,
        ...moved,
      }
    case 'llm.request':
      return {
        ...turn,
        turn_id: event.data.turn_id,
        next_iteration: event.data.iteration_index,
        requested: true,
      }
    case 'llm.response': {
      if (event.data.turn_id === undefined) return turn
      const empty = event.data.message.content === '' && !event.data.message.tool_calls?.length
      return {
        ...turn,
        requested: false,
        next_iteration: (event.data.iteration_index ?? turn.next_iteration) + 1,
        empty_answers: empty ? turn.empty_answers + 1 : 0,
        usage: add(turn.usage, event.data),
        ...moved,
      }
    }
    case 'tool.call':
      return {
        ...turn,
        calls: append(
          turn.calls,
          [
            {
              tool_call_id: event.data.tool_call_id,
              name: event.data.name,
              arguments: JSON.stringify(event.data.arguments),
              content: '',
            },
          ],
          owned,
        ),
        files: fileOf(event.data.name, event.data.arguments, turn.files),
      }
    case 'tool.result':
      return {
        ...turn,
        calls: changeLast(
          turn.calls,
          call => call.tool_call_id === event.data.tool_call_id,
          call => ({ ...call, content: event.data.content }),
          owned,
        ),
        ...moved,
      }
    case 'artifact.created':
      return {
        ...turn,
        artifacts: append(
          turn.artifacts,
          [{ artifact_id: event.data.artifact_id, name: event.data.name }],
          owned,
        ),
      }
    case 'advisor.result':
    case 'expert.result':
    case 'expert.failure':
    case 'span.outcome_evaluation_end':
      return { ...turn, usage: add(turn.usage, event.data) }
    case 'context.compact':
      return { ...turn, usage: add(turn.usage, event.data), compactions: turn.compactions + 1 }
    case 'session.model_escalated':
      return { ...turn, escalated_model: event.data.model, empty_answers: 0 }
    case 'harness.recovered':
      return { ...turn, recoveries: turn.recoveries + 1 }
    case 'harness.crash':
      return { ...turn, crashes: [...turn.crashes, event.data.error] }
    // A retry is a fresh start for the guards, and a message that came while the session was paused begins a
    // turn of its own.
    case 'session.resume':
      return { ...turn, ...moved }
    // A goal that goes on does so in a turn of its own, with a fresh budget.
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
    case 'outcome.continuation':
      return { ...emptyTurn }
    default:
      return turn
  }
}

const moved = { recoveries: 0, crashes: [] } as const

const add = (
  usage: TurnUsage,
  more: {
    input_tokens?: number | undefined
    output_tokens?: number | undefined
    cost_usd?: number | undefined
  },
): TurnUsage => ({
  input_tokens: usage.input_tokens + (more.input_tokens ?? 0),
  output_tokens: usage.output_tokens + (more.output_tokens ?? 0),
  cost_usd: usage.cost_usd + (more.cost_usd ?? 0),
})

const WRITES = new Set(['write_file', 'edit_file'])
const fileOf = (name: string, args: Record<string, unknown>, files: readonly string[]): readonly string[] =>
  WRITES.has(name) && typeof args['path'] === 'string' && !files.includes(args['path'])
    ? [...files, args['path']]
    : files
