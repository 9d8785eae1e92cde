/**
 * A session's log as training data: the conversation step by step, the ratings, and the marks that exclude a
 * session from a data set. Pure and in log order, so the same log always gives the same trajectory.
 */
import { type EventId, type EventOf, factsOf, type SessionEvent } from '@cairn/protocol'
import { emptyConversation, foldConversationInto } from './conversation.ts'
import type { Conversation, ConversationMessage } from './messages.ts'
import { IMPORT } from './fork.ts'
import { answerText } from './open-calls.ts'
import type { Owned } from './owned.ts'

export type Rating = {
  target_event_id: EventId
  /** For an imported answer: its position in `history` of the event. */
  history_item: number | null
  rating: 'up' | 'down'
  source: 'user' | 'judge'
  principal: string
  reason: string | null
  rationale: string | null
  score: number | null
  criteria: Record<string, number> | null
}
export type ResponseStep = {
  event_id: EventId
  history_item: number | null
  created_at: string
  turn_id: string | null
  model: string
  reasoning: string | null
  finish_reason: string
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cost_usd: number | null
  /** The conversation that the model answered, without this answer. */
  prefix: readonly ConversationMessage[]
  message: Extract<ConversationMessage, { role: 'assistant' }>
}
export type UserStep = { event_id: EventId; created_at: string; content: string; synthetic: string | null }
export type ToolStep = {
  event_id: EventId
  created_at: string
  tool_call_id: string
  content: string
  elapsed_ms: number
}
export type TrajectoryStep =
  ({ kind: 'user' } & UserStep) | ({ kind: 'response' } & ResponseStep) | ({ kind: 'tool' } & ToolStep)

export type Trajectory = {
  readonly session_id: string
  readonly steps: readonly TrajectoryStep[]
  /** Each principal's latest rating of each event, in the order of the rated events. */
  readonly ratings: readonly Rating[]
  /** Number of events of each type that indicate a problem (`trouble` in the contract). */
  readonly marks: Readonly<Record<string, number>>
  readonly last_id: EventId
}

/** Working state while reading a log. */
type Reading = {
  steps: TrajectoryStep[]
  ratings: Map<string, Rating>
  /** Answers to questions whose tool.result is missing; older releases wrote none. */
  answers: Map<string, ToolStep>
  reasoning: EventOf<'llm.thinking'>['data'] | null
}

export function foldTrajectory(sessionId: string, events: Iterable<SessionEvent>): Trajectory {
  const reading: Reading = { steps: [], ratings: new Map(), answers: new Map(), reasoning: null }
  const marks: Record<string, number> = {}
  let conversation: Conversation = emptyConversation
  const owned: Owned = new WeakSet()
  let last_id = 0
  for (const event of events) {
    last_id = event.id
    if (factsOf(event.type).trouble) marks[event.type] = (marks[event.type] ?? 0) + 1
    read(reading, event, conversation)
    conversation = foldConversationInto(owned, conversation, event)
  }
  const ratings = [...reading.ratings.values()].toSorted(byTargetAndPrincipal)
  return { session_id: sessionId, steps: reading.steps, ratings, marks, last_id }
}

/** `conversation` is the state before the event. */
function read(reading: Reading, event: SessionEvent, conversation: Conversation): void {
  const { steps, ratings } = reading
  switch (event.type) {
    case 'user.message': {
      const { content, synthetic = null } = event.data
      if (synthetic === IMPORT) return void steps.push(...importedSteps(event, conversation))
      steps.push({ kind: 'user', ...placeOf(event), content, synthetic })
      return
    }
    case 'tool.result':
      return readResult(reading, event)
    case 'ask_user_question.response':
      return readAnswer(reading, event)
    case 'llm.thinking':
      reading.reasoning = event.data
      return
    case 'llm.response':
      if (event.data.finish_reason !== 'command')
        steps.push(responseStep(event, reading.reasoning, conversation))
      return
    case 'user.feedback':
    case 'expert.endorse':
    case 'expert.override': {
      const rating = ratingOf(event.data)
      const key = `${rating.target_event_id} ${rating.history_item ?? ''} ${rating.principal}`
      if (event.data.withdrawn) ratings.delete(key)
      else ratings.set(key, rating)
      return
    }
    default:
  }
}

const placeOf = ({ id, created_at }: SessionEvent): { event_id: EventId; created_at: string } => ({
  event_id: id,
  created_at,
})

/** The model and the usage of imported answers are not ours to count. */
const UNCOUNTED = {
  turn_id: null,
  reasoning: null,
  finish_reason: 'stop',
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cost_usd: null,
} as const

function importedSteps(event: EventOf<'user.message'>, { entries }: Conversation): TrajectoryStep[] {
  const { history = [], imported } = event.data
  const messages = history as ConversationMessage[]
  const before = entries.length
  // A copy for each answer would need memory in proportion to the square of the conversation.
  const whole = [...entries.map(entry => entry.message), ...messages]
  return messages.map((message, history_item): TrajectoryStep => {
    const at = placeOf(event)
    if (message.role === 'user') return { kind: 'user', ...at, content: message.content, synthetic: null }
    if (message.role === 'tool') {
      const { tool_call_id, content } = message
      return { kind: 'tool', ...at, tool_call_id, content, elapsed_ms: 0 }
    }
    const model = imported?.format ?? IMPORT
    return {
      kind: 'response',
      ...at,
      ...UNCOUNTED,
      history_item,
      model,
      message,
      get prefix() {
        return whole.slice(0, before + history_item)
      },
    }
  })
}

function readResult({ steps, answers }: Reading, event: EventOf<'tool.result'>): void {
  const { tool_call_id, content, elapsed_ms } = event.data
  const answer = answers.get(tool_call_id)
  if (answer === undefined) steps.push({ kind: 'tool', ...placeOf(event), tool_call_id, content, elapsed_ms })
  else Object.assign(answer, { content, elapsed_ms })
  answers.delete(tool_call_id)
}

function readAnswer({ steps, answers }: Reading, event: EventOf<'ask_user_question.response'>): void {
  const { tool_call_id, responses } = event.data
  const step: { kind: 'tool' } & ToolStep = {
    kind: 'tool',
    ...placeOf(event),
    tool_call_id,
    content: answerText(responses),
    elapsed_ms: 0,
  }
  steps.push(step)
  answers.set(tool_call_id, step)
}

function responseStep(
  event: EventOf<'llm.response'>,
  reasoning: Reading['reasoning'],
  conversation: Conversation,
): { kind: 'response' } & ResponseStep {
  const { data } = event
  const isOwn = reasoning?.turn_id === data.turn_id && reasoning?.iteration_index === data.iteration_index
  return {
    kind: 'response',
    ...placeOf(event),
    history_item: null,
    turn_id: data.turn_id ?? null,
    model: data.model,
    reasoning: reasoning !== null && isOwn ? reasoning.reasoning : null,
    finish_reason: data.finish_reason,
    input_tokens: data.input_tokens,
    output_tokens: data.output_tokens,
    cache_read_tokens: data.cache_read_tokens,
    cost_usd: data.cost_usd ?? null,
    prefix: conversation.entries.map(entry => entry.message),
    message: data.message,
  }
}

const ratingOf = (data: EventOf<'user.feedback' | 'expert.endorse' | 'expert.override'>['data']): Rating => ({
  target_event_id: data.target_event_id,
  history_item: 'history_item' in data && typeof data.history_item === 'number' ? data.history_item : null,
  rating: data.rating,
  source: data.source,
  principal: data.rated_by_user_id ?? data.rated_by_service_account_id ?? '',
  reason: data.reason ?? null,
  rationale: data.rationale ?? null,
  score: data.score ?? null,
  criteria: data.criteria ?? null,
})

const byTargetAndPrincipal = (a: Rating, b: Rating): number =>
  a.target_event_id - b.target_event_id ||
  (a.history_item ?? 0) - (b.history_item ?? 0) ||
  (a.principal < b.principal ? -1 : a.principal > b.principal ? 1 : 0)

/** The ratings of an answer. */
export const ratingsOf = (
  { ratings }: Trajectory,
  { event_id, history_item }: Pick<ResponseStep, 'event_id' | 'history_item'>,
): Rating[] =>
  ratings.filter(rating => rating.target_event_id === event_id && rating.history_item === history_item)

/** The raters' overall verdict on an answer: `mixed` when they disagree, null without ratings. */
export function verdictOf(
  trajectory: Trajectory,
  step: Pick<ResponseStep, 'event_id' | 'history_item'>,
  source?: 'user' | 'judge',
): 'up' | 'down' | 'mixed' | null {
  const votes = ratingsOf(trajectory, step)
    .filter(rating => source === undefined || rating.source === source)
    .map(rating => rating.rating)
  if (votes.length === 0) return null
  return votes.every(vote => vote === votes[0]) ? votes[0]! : 'mixed'
}
