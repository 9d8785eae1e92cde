/**
 * A session's log as training data sees it: the conversation step by step, what was rated and how, and the
 * marks that keep a session out of a data set. Pure and in log order, so the same log always gives the same
 * trajectory.
 */
import { type EventId, factsOf, type SessionEvent } from '@cairn/protocol'
import {
  type Conversation,
  type ConversationMessage,
  emptyConversation,
  foldConversationInto,
} from './conversation.ts'
import { answerText } from './open-calls.ts'
import type { Owned } from './owned.ts'

export type Rating = {
  target_event_id: EventId
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
  created_at: string
  turn_id: string | null
  model: string
  reasoning: string | null
  finish_reason: string
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cost_usd: number | null
  /** The conversation the model answered to, without this answer. */
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
  /** The latest rating of each principal of each event, in the order of the events rated. */
  readonly ratings: readonly Rating[]
  /** How often each event stands in it that says something went wrong (`trouble` in the contract). */
  readonly marks: Readonly<Record<string, number>>
  readonly last_id: EventId
}

export function foldTrajectory(sessionId: string, events: Iterable<SessionEvent>): Trajectory {
  const steps: TrajectoryStep[] = []
  const ratings = new Map<string, Rating>()
  const marks: Record<string, number> = {}
  let conversation: Conversation = emptyConversation
  const owned: Owned = new WeakSet()
  /** Answers to questions that have no tool.result yet; older releases gave them none. */
  const answers = new Map<string, ToolStep>()
  let reasoning: { turn_id: string; iteration: number; text: string } | null = null
  let last_id = 0
  for (const event of events) {
    last_id = event.id
    if (factsOf(event.type).trouble) marks[event.type] = (marks[event.type] ?? 0) + 1
    const at = { event_id: event.id, created_at: event.created_at }
    switch (event.type) {
      case 'user.message':
        steps.push({
          kind: 'user',
          ...at,
          content: event.data.content,
          synthetic: event.data.synthetic ?? null,
        })
        break
      case 'tool.result': {
        const { tool_call_id, content, elapsed_ms } = event.data
        const answer = answers.get(tool_call_id)
        if (answer === undefined) steps.push({ kind: 'tool', ...at, tool_call_id, content, elapsed_ms })
        else Object.assign(answer, { content, elapsed_ms })
        answers.delete(tool_call_id)
        break
      }
      case 'ask_user_question.response': {
        const { tool_call_id, responses } = event.data
        const step: { kind: 'tool' } & ToolStep = {
          kind: 'tool',
          ...at,
          tool_call_id,
          content: answerText(responses),
          elapsed_ms: 0,
        }
        steps.push(step)
        answers.set(tool_call_id, step)
        break
      }
      case 'llm.thinking':
        reasoning = {
          turn_id: event.data.turn_id,
          iteration: event.data.iteration_index,
          text: event.data.reasoning,
        }
        break
      case 'llm.response': {
        const { data } = event
        if (data.finish_reason === 'command') break
        const own =
          reasoning !== null &&
          reasoning.turn_id === data.turn_id &&
          reasoning.iteration === data.iteration_index
            ? reasoning.text
            : null
        steps.push({
          kind: 'response',
          ...at,
          turn_id: data.turn_id ?? null,
          model: data.model,
          reasoning: own,
          finish_reason: data.finish_reason,
          input_tokens: data.input_tokens,
          output_tokens: data.output_tokens,
          cache_read_tokens: data.cache_read_tokens,
          cost_usd: data.cost_usd ?? null,
          prefix: conversation.entries.map(entry => entry.message),
          message: data.message,
        })
        break
      }
      case 'user.feedback':
      case 'expert.endorse':
      case 'expert.override': {
        const { data } = event
        const principal = data.rated_by_user_id ?? data.rated_by_service_account_id ?? ''
        ratings.set(`${data.target_event_id} ${principal}`, {
          target_event_id: data.target_event_id,
          rating: data.rating,
          source: data.source,
          principal,
          reason: data.reason ?? null,
          rationale: data.rationale ?? null,
          score: data.score ?? null,
          criteria: data.criteria ?? null,
        })
        break
      }
      default:
    }
    conversation = foldConversationInto(owned, conversation, event)
  }
  const sorted = [...ratings.values()].toSorted(
    (a, b) =>
      a.target_event_id - b.target_event_id ||
      (a.principal < b.principal ? -1 : a.principal > b.principal ? 1 : 0),
  )
  return { session_id: sessionId, steps, ratings: sorted, marks, last_id }
}

/** What the raters think of an event as a whole: `mixed` when they disagree, null when nobody rated it. */
export function verdictOf(
  trajectory: Trajectory,
  eventId: EventId,
  source?: 'user' | 'judge',
): 'up' | 'down' | 'mixed' | null {
  const votes = trajectory.ratings
    .filter(
      rating => rating.target_event_id === eventId && (source === undefined || rating.source === source),
    )
    .map(rating => rating.rating)
  if (votes.length === 0) return null
  return votes.every(vote => vote === votes[0]) ? votes[0]! : 'mixed'
}
