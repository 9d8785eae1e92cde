/**
 * Rated trajectories as training examples. An example spans from the start of the conversation to one rated
 * answer; the rater sees a turn as one answer, so all its calls and results are part of it.
 *
 * sft: one example per session, up to the last answer rated up, unless an answer before it was rated down.
 * dpo: pairs of an answer rated up and one rated down to the same conversation, across sessions. kto: every
 * answer rated up or down, individually.
 */
import { createHash } from 'node:crypto'
import {
  type ConversationMessage,
  type ResponseStep,
  type Trajectory,
  inCallOrder,
  ratingsOf,
  verdictOf,
} from '@cairn/state'
import type { DefineTool, Selection, ToolDefinition } from './options.ts'

type Provenance = {
  session_id: string
  event_id: number
  history_item?: number
  ratings: { rating: string; source: string; score: number | null }[]
}
export type SftExample = { messages: ChatMessage[]; tools: ToolDefinition[]; metadata: Provenance }
export type DpoExample = {
  prompt: ChatMessage[]
  chosen: ChatMessage[]
  rejected: ChatMessage[]
  tools: ToolDefinition[]
  metadata: { chosen: Provenance; rejected: Provenance }
}
export type KtoExample = {
  prompt: ChatMessage[]
  completion: ChatMessage[]
  /** Whether the answer was rated up. */
  label: boolean
  tools: ToolDefinition[]
  metadata: Provenance
}
type ChatMessage =
  | { role: 'user'; content: string }
  | {
      role: 'assistant'
      content: string
      tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
    }
  | { role: 'tool'; tool_call_id: string; content: string }

/** Whether a session is eligible for training. */
export const isSelected = (trajectory: Trajectory, agent: string, selection: Selection): boolean =>
  selection.exclude.every(type => !trajectory.marks[type]) &&
  (selection.agents.length === 0 || selection.agents.includes(agent))

export function sftExample(
  trajectory: Trajectory,
  selection: Selection,
  define: DefineTool,
): SftExample | null {
  const answers = responses(trajectory)
  const rated = (step: ResponseStep) =>
    verdictOf(trajectory, step, selection.source === 'any' ? undefined : selection.source)
  const last = answers.findLastIndex(step => rated(step) === 'up')
  if (last === -1 || answers.slice(0, last).some(step => rated(step) === 'down' || rated(step) === 'mixed'))
    return null
  const step = answers[last]!
  const messages = chat([...step.prefix, step.message])
  return { messages, tools: toolsOf(messages, define), metadata: provenance(trajectory, step) }
}

/**
 * Pairs across all given trajectories, in their order; each answer rated up takes the first matching one
 * rated down.
 */
export function dpoExamples(
  trajectories: readonly Trajectory[],
  selection: Selection,
  define: DefineTool,
): DpoExample[] {
  const rated = trajectories.flatMap(trajectory =>
    ratedTurns(trajectory, selection).map(turn => ({
      ...turn,
      key: createHash('sha256')
        .update(JSON.stringify(turn.prompt.map(withoutIds)))
        .digest('hex'),
    })),
  )
  const rejected = Map.groupBy(
    rated.filter(one => one.verdict === 'down'),
    one => one.key,
  )
  return rated
    .filter(one => one.verdict === 'up')
    .flatMap(chosen => {
      const other = rejected
        .get(chosen.key)
        ?.find(
          one => JSON.stringify(one.turn.map(withoutIds)) !== JSON.stringify(chosen.turn.map(withoutIds)),
        )
      if (!other) return []
      return [
        {
          prompt: chosen.prompt,
          chosen: chosen.turn,
          rejected: other.turn,
          tools: toolsOf([...chosen.prompt, ...chosen.turn, ...other.turn], define),
          metadata: {
            chosen: provenance(chosen.trajectory, chosen.step),
            rejected: provenance(other.trajectory, other.step),
          },
        },
      ]
    })
}

/** Individually rated answers, whether or not the same conversation has another. */
export const ktoExamples = (trajectory: Trajectory, selection: Selection, define: DefineTool): KtoExample[] =>
  ratedTurns(trajectory, selection).map(({ step, verdict, prompt, turn }) => ({
    prompt,
    completion: turn,
    label: verdict === 'up',
    tools: toolsOf([...prompt, ...turn], define),
    metadata: provenance(trajectory, step),
  }))

/** Answers on which all selected raters agree. */
function ratedTurns(trajectory: Trajectory, selection: Selection) {
  const source = selection.source === 'any' ? undefined : selection.source
  return responses(trajectory).flatMap(step => {
    const verdict = verdictOf(trajectory, step, source)
    if (verdict !== 'up' && verdict !== 'down') return []
    return [{ trajectory, step, verdict, ...splitTurn(step) }]
  })
}

/** The conversation up to and including the turn's message, and the turn's output. */
function splitTurn(step: ResponseStep): { prompt: ChatMessage[]; turn: ChatMessage[] } {
  const messages = chat([...step.prefix, step.message])
  const asked = messages.findLastIndex(message => message.role === 'user')
  return { prompt: messages.slice(0, asked + 1), turn: messages.slice(asked + 1) }
}

const responses = (trajectory: Trajectory): ResponseStep[] =>
  trajectory.steps.flatMap(step => (step.kind === 'response' ? [step] : []))

/**
 * Only the fields that chat templates know; a provider's private reasoning blocks mean nothing to another
 * model.
 */
const chat = (messages: readonly ConversationMessage[]): ChatMessage[] =>
  inCallOrder(messages).map(message => {
    if (message.role === 'user') return { role: 'user', content: message.content }
    if (message.role === 'tool')
      return { role: 'tool', tool_call_id: message.tool_call_id, content: message.content }
    return {
      role: 'assistant',
      content: message.content,
      ...(message.tool_calls?.length ? { tool_calls: message.tool_calls } : {}),
    }
  })

/** Call ids are random, so conversations are compared without them. */
const withoutIds = (message: ChatMessage): unknown => {
  if (message.role === 'tool') return [message.role, message.content]
  return message.role === 'assistant'
    ? [message.role, message.content, message.tool_calls?.map(call => call.function) ?? []]
    : [message.role, message.content]
}

const toolsOf = (messages: readonly ChatMessage[], define: DefineTool): ToolDefinition[] =>
  [
    ...new Set(
      messages.flatMap(message =>
        message.role === 'assistant' ? (message.tool_calls ?? []).map(call => call.function.name) : [],
      ),
    ),
  ]
    .toSorted()
    .map(define)

const provenance = (trajectory: Trajectory, step: ResponseStep): Provenance => ({
  session_id: trajectory.session_id,
  event_id: step.event_id,
  ...(step.history_item === null ? {} : { history_item: step.history_item }),
  ratings: ratingsOf(trajectory, step).map(({ rating, source, score }) => ({ rating, source, score })),
})
