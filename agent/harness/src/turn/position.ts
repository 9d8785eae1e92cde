/**
 * Everything a worker must know to go on with a session, as one fold of its log. `next-step.ts` decides from
 * it, so a worker that takes over after a crash stands exactly where the dead one stood.
 */
import {
  type Advice,
  type Conversation,
  emptyConversation,
  emptyTurn,
  foldAdvice,
  foldConversationInto,
  foldGoal,
  foldProgress,
  foldReview,
  foldSaga,
  foldTurnInto,
  type GoalState,
  isServerCommand,
  noAdvice,
  noProgress,
  noReview,
  type Owned,
  type Progress,
  type Review,
  type SagaState,
  type TurnState,
} from '@cairn/state'
import type { EventData, EventId, EventOf, SessionEvent } from '@cairn/protocol'
import { type CompactReason, foldCompacted } from '../compaction/due.ts'
import { foldMeasured, type Measured } from '../compaction/size.ts'

/** The last answer of the running turn. */
export type Answer = {
  id: EventId
  /** The llm.request it answers: what is older the model has seen. */
  request_id: EventId
  turn_id: string
  iteration_index: number
  call_ids: readonly string[]
  finish_reason: string
  /** Neither words nor calls. */
  empty: boolean
  /** The budget's last call: the model had no tools and had to answer. */
  forced: boolean
  /** RFC 3339: when its first request was written. */
  started_at: string
}

/**
 * A message of a user that begins with a slash: a command, a skill, or plain text, as the skills of the day
 * say.
 */
export type Slashed = Pick<EventData<'user.message'>, 'content' | 'metadata' | 'attachments' | 'images'> & {
  event_id: EventId
}

export type Position = {
  /** The last event folded; the cursor of the next read. */
  readonly last_id: EventId
  readonly conversation: Conversation
  readonly turn: TurnState
  /** How the turn before this one ended. */
  readonly ended: {
    id: EventId
    by: 'session.complete' | 'session.fail' | 'session.stopped' | 'outcome.continuation'
  } | null
  readonly request: EventOf<'llm.request'> | null
  readonly answer: Answer | null
  /** Answers in a row that were cut for their length. */
  readonly cut_answers: number
  /** Index of the last iteration that has its summary; -1 before the first. */
  readonly summarized: number
  /** Questions put to the user: tool_call_id and the event that asks. */
  readonly questions: readonly { tool_call_id: string; asked_at: EventId }[]
  /** The action that the user was asked for and the turn waits for; null once anything is said. */
  readonly action_id: EventId | null
  /** The last message that a person or machine sent, as opposed to one the server made. */
  readonly spoken_id: EventId
  readonly last_user_text: string | null
  /**
   * What the server counted of the conversation, and why it was compacted if the model has not answered
   * since.
   */
  readonly measured: Measured
  readonly compacted: CompactReason | null
  readonly goal: GoalState
  readonly advice: Advice
  readonly progress: Progress
  readonly review: Review
  /** The running saga, or the last one. */
  readonly saga: SagaState
  /** The rollback that the model is told of: news, and nothing to answer. */
  readonly rolled_back_id: EventId | null
  /** Not replied to and not expanded yet. */
  readonly slashed: readonly Slashed[]
  /** A command was replied to since the last turn ended. */
  readonly replied: boolean
  /** The answer that was graded last, and the verdict on it. */
  readonly graded: { response_id: EventId; verdict_id: EventId } | null
}

const betweenTurns = { request: null, answer: null, cut_answers: 0, summarized: -1, replied: false } as const
export const startPosition: Position = {
  last_id: 0,
  conversation: emptyConversation,
  turn: emptyTurn,
  ended: null,
  ...betweenTurns,
  questions: [],
  spoken_id: 0,
  last_user_text: null,
  goal: null,
  advice: noAdvice,
  progress: noProgress,
  review: noReview,
  action_id: null,
  saga: null,
  rolled_back_id: null,
  slashed: [],
  graded: null,
  measured: null,
  compacted: null,
}

export const foldPosition = (before: Position, event: SessionEvent): Position => foldInto(null, before, event)

/** The position after many events, at a cost that grows with them and not with what lies before. */
export function foldPositions(before: Position, events: Iterable<SessionEvent>): Position {
  const owned: Owned = new WeakSet()
  let position = before
  for (const event of events) position = foldInto(owned, position, event)
  return position
}

function foldInto(owned: Owned, before: Position, event: SessionEvent): Position {
  const had = before.conversation.entries.length
  const conversation = foldConversationInto(owned, before.conversation, event)
  const position: Position = {
    ...before,
    last_id: event.id,
    conversation,
    turn: foldTurnInto(owned, before.turn, event),
    goal: foldGoal(before.goal, event),
    advice: foldAdvice(before.advice, event),
    progress: foldProgress(before.progress, event),
    review: foldReview(before.review, event),
    saga: foldSaga(before.saga, event),
    measured: foldMeasured(before.measured, event, had, conversation),
    compacted: foldCompacted(before.compacted, event),
  }
  switch (event.type) {
    case 'user.message':
      return heard({ ...position, action_id: null }, event)
    // A proposal is decided on whenever its user likes.
    case 'inbox.action_required':
      return event.data.proposal === undefined ? { ...position, action_id: event.id } : position
    case 'skill.invoked':
      return {
        ...position,
        slashed: position.slashed.filter(message => message.event_id !== event.data.user_message_id),
      }
    case 'saga.compensate':
      return { ...position, rolled_back_id: event.id }
    case 'span.outcome_evaluation_end':
      return before.goal?.open
        ? { ...position, graded: { response_id: before.goal.open.response_event_id, verdict_id: event.id } }
        : position
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
    // A failed turn is tried again, and what it did not get to with it.
    case 'session.fail':
      return { ...position, ...betweenTurns, action_id: null, ended: { id: event.id, by: event.type } }
    case 'session.complete':
    case 'session.stopped':
      return {
        ...position,
        ...betweenTurns,
        action_id: null,
        slashed: [],
        ended: { id: event.id, by: event.type },
      }
    case 'outcome.continuation':
      return { ...position, ...betweenTurns, ended: { id: event.id, by: event.type } }
    default:
      return position
  }
}

function heard(position: Position, { id, data }: EventOf<'user.message'>): Position {
  const { content, metadata, attachments, images, synthetic } = data
  if (synthetic !== undefined)
    return synthetic === 'outcome_kickoff' ? { ...position, last_user_text: content } : position
  const slashed = content.startsWith('/')
    ? [
        ...position.slashed,
        {
          event_id: id,
          content,
          ...(metadata ? { metadata } : {}),
          ...(attachments ? { attachments } : {}),
          ...(images ? { images } : {}),
        },
      ]
    : position.slashed
  // A command steers the server; it is no answer to a question and nothing the model is asked.
  return isServerCommand(content)
    ? { ...position, slashed }
    : { ...position, slashed, spoken_id: id, last_user_text: content }
}

const sameIteration = (
  a: EventOf<'llm.request'> | null,
  b: EventOf<'llm.request'>,
): a is EventOf<'llm.request'> =>
  a !== null && a.data.turn_id === b.data.turn_id && a.data.iteration_index === b.data.iteration_index

function answered(position: Position, { id, created_at, data }: EventOf<'llm.response'>): Position {
  // Replies of the server itself (a slash command) belong to no turn.
  if (data.finish_reason === 'command')
    return {
      ...position,
      replied: true,
      slashed: position.slashed.filter(message => message.event_id !== data.command_event_id),
    }
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
      empty: data.message.content === '' && !data.message.tool_calls?.length,
      call_ids: (data.message.tool_calls ?? []).map(call => call.id),
      forced: position.request?.data.tools_disabled === true,
      started_at: position.request?.created_at ?? created_at,
    },
  }
}
