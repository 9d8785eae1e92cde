/**
 * Everything that a runner must know to continue a session, as one fold of its log. `next-step.ts` decides
 * from it, so a runner that takes over after a crash continues exactly where the previous one stopped.
 */
import type { StoredEvent } from '@cairn/log'
import {
  capabilityChanges,
  type CapabilityStates,
  type Conversation,
  emptyCapabilities,
  emptyConversation,
  emptyTurn,
  foldConversationInto,
  foldMeasured,
  foldTurnInto,
  isServerCommand,
  neededCapabilities,
  type Measured,
  type Owned,
  type TurnState,
} from '@cairn/state'
import {
  decodeEvent,
  type EventId,
  type EventOf,
  isBesideTurns,
  isBlank,
  type SessionEvent,
} from '@cairn/protocol'

/** The last answer of the running turn. */
type Answer = {
  id: EventId
  /** The llm.request that it answers: the model has seen everything before that. */
  request_id: EventId
  turn_id: string
  iteration_index: number
  call_ids: readonly string[]
  finish_reason: string
  /** Neither visible text nor calls. */
  empty: boolean
  /** RFC 3339: when its first request was written. */
  started_at: string
}

/** What the turn itself keeps, and the state of each capability under its own key. */
export type Position = CapabilityStates & {
  /** The last event folded; the cursor of the next read. */
  readonly last_id: EventId
  readonly conversation: Conversation
  readonly turn: TurnState
  /** How the previous turn ended. */
  readonly ended: {
    id: EventId
    by:
      | 'session.complete'
      | 'session.fail'
      | 'session.stopped'
      | 'outcome.continuation'
      | 'mission.continuation'
  } | null
  readonly request: EventOf<'llm.request'> | null
  readonly answer: Answer | null
  /** Consecutive answers that were cut at their length limit. */
  readonly cut_answers: number
  /** Index of the last iteration with a summary; -1 before the first. */
  readonly summarized: number
  /** Questions to the user: tool_call_id and the event that asks. */
  readonly questions: readonly { tool_call_id: string; asked_at: EventId }[]
  /** The user action that the turn waits for; null after any message. */
  readonly action_id: EventId | null
  /** The last message sent by a person or machine, as opposed to one created by the server. */
  readonly spoken_id: EventId
  readonly last_user_text: string | null
  /** The server's token count of the conversation. */
  readonly measured: Measured
  /** The rollback that the model reads about, as information that needs no answer. */
  readonly rolled_back_id: EventId | null
}

const betweenTurns = { request: null, answer: null, cut_answers: 0, summarized: -1 } as const
export const startPosition: Position = {
  ...emptyCapabilities,
  last_id: 0,
  conversation: emptyConversation,
  turn: emptyTurn,
  ended: null,
  ...betweenTurns,
  questions: [],
  spoken_id: 0,
  last_user_text: null,
  action_id: null,
  rolled_back_id: null,
  measured: null,
}

export const foldPosition = (before: Position, event: SessionEvent): Position => foldInto(null, before, event)

/** The position after many events; the cost depends only on their number. */
export function foldPositions(before: Position, events: Iterable<SessionEvent>): Position {
  const owned: Owned = new WeakSet()
  let position = before
  for (const event of events) position = foldInto(owned, position, event)
  return position
}

/**
 * Like foldPositions, for stored records. Records up to `last_id` are skipped: parallel calls catch up in
 * parallel, and each event is folded by the first that reads it.
 */
export const foldRecords = (before: Position, records: readonly StoredEvent[]): Position =>
  foldPositions(
    before,
    records.filter(({ id }) => id > before.last_id).map(({ json }) => decodeEvent(json)),
  )

function foldInto(owned: Owned, before: Position, event: SessionEvent): Position {
  const had = before.conversation.entries.length
  const conversation = foldConversationInto(owned, before.conversation, event)
  const position: Position = {
    ...before,
    ...capabilityChanges(before, event),
    last_id: event.id,
    conversation,
    turn: foldTurnInto(owned, before.turn, event),
    measured: foldMeasured(before.measured, event, had, conversation),
  }
  switch (event.type) {
    case 'user.message':
      return heard({ ...position, action_id: null }, event)
    // A proposal may be decided at any time; a blocked task suspends only its own worker.
    case 'inbox.action_required':
      return event.data.proposal === undefined && !isBesideTurns(event.data.action_type)
        ? { ...position, action_id: event.id }
        : position
    // Older state that only the page shows stays in the log.
    case 'context.compact':
      return { ...position, ...neededCapabilities(position) }
    case 'saga.compensate':
      return { ...position, rolled_back_id: event.id }
    case 'llm.request':
      return {
        ...position,
        request: sameIteration(before.request, event)
          ? { ...event, created_at: before.request.created_at }
          : event,
      }
    case 'llm.response':
      return answered(position, event)
    case 'iteration.summary':
      return { ...position, summarized: event.data.iteration_index }
    case 'inbox.input_required':
      return {
        ...position,
        questions: [...position.questions, { tool_call_id: event.data.tool_call_id, asked_at: event.id }],
      }
    case 'tool.result':
    case 'ask_user_question.response':
      return {
        ...position,
        questions: position.questions.filter(question => question.tool_call_id !== event.data.tool_call_id),
      }
    // A failed turn is retried, including what it did not reach.
    case 'session.fail':
      return { ...position, ...betweenTurns, action_id: null, ended: { id: event.id, by: event.type } }
    case 'session.complete':
    case 'session.stopped':
      return {
        ...position,
        ...betweenTurns,
        action_id: null,
        ended: { id: event.id, by: event.type },
      }
    case 'outcome.continuation':
    case 'mission.continuation':
      return { ...position, ...betweenTurns, ended: { id: event.id, by: event.type } }
    default:
      return position
  }
}

/** Server messages that state what the work is about. */
const KICKOFFS: readonly string[] = ['outcome_kickoff', 'mission_kickoff']

function heard(position: Position, { id, data }: EventOf<'user.message'>): Position {
  const { content, synthetic } = data
  if (synthetic !== undefined)
    return KICKOFFS.includes(synthetic) ? { ...position, last_user_text: content } : position
  // A command controls the server; it is neither an answer to a question nor a message to the model.
  return isServerCommand(content) ? position : { ...position, spoken_id: id, last_user_text: content }
}

const sameIteration = (
  a: EventOf<'llm.request'> | null,
  b: EventOf<'llm.request'>,
): a is EventOf<'llm.request'> =>
  a !== null && a.data.turn_id === b.data.turn_id && a.data.iteration_index === b.data.iteration_index

function answered(position: Position, { id, created_at, data }: EventOf<'llm.response'>): Position {
  // Replies of the server itself (to a slash command) belong to no turn.
  if (data.finish_reason === 'command') return position
  if (data.turn_id === undefined || data.iteration_index === undefined) return position
  return {
    ...position,
    cut_answers: data.finish_reason === 'length' ? position.cut_answers + 1 : 0,
    answer: {
      id,
      request_id: position.request?.id ?? id,
      turn_id: data.turn_id,
      iteration_index: data.iteration_index,
      finish_reason: data.finish_reason,
      empty: isBlank(data.message.content) && !data.message.tool_calls?.length,
      call_ids: (data.message.tool_calls ?? []).map(call => call.id),
      started_at: position.request?.created_at ?? created_at,
    },
  }
}
