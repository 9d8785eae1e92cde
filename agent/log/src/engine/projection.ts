/**
 * The effect of an event on its session's row, from type and data alone. The writer applies it in the event's
 * own transaction and `check` recomputes it from the log. Both use this module, so counters always agree with
 * the log.
 */
import type { EventType, SessionStatus } from '@cairn/protocol'
import { factsOf, isBesideTurns } from '@cairn/protocol/words'

export type Effect = {
  status?: SessionStatus
  messages?: number
  toolCalls?: number
  inputTokens?: number
  outputTokens?: number
  costUsd?: number
  title?: { text: string; provisional: boolean }
  /** A call had no known rate: the total cost is a lower bound. */
  unpriced?: true
  /** Requests work: sets wake_id to this event. */
  wakes?: true
  /** Suspends the turn until a person answers or acts: sets asked_id to this event. */
  asks?: true
  /** A saga starts or ends, or a running one must be rolled back. */
  saga?: 'begins' | 'ends' | 'rolls_back'
  /** An llm.delta, which may be pruned once its response has been committed. */
  delta?: true
}

const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** Null for the many events that only extend the log. */
export function effectOf(type: EventType, data: Readonly<Record<string, unknown>>): Effect | null {
  const effect: Effect = {}
  const { status, saga, wakes, asks, usage } = factsOf(type)
  if (status !== undefined) effect.status = status
  if (saga !== undefined) effect.saga = saga
  // A session need not be woken for what its own stop or end did to its children, or for a retried attempt.
  const isQuiet = type === 'loop.result' && data['wake'] !== true
  if (wakes && !isQuiet && data['cause'] !== 'parent' && data['will_retry'] !== true) effect.wakes = true
  // Nothing waits for a proposal, and a blocked task suspends its own worker only.
  if (asks === 'waits' && data['proposal'] === undefined && !isBesideTurns(data['action_type']))
    effect.asks = true
  if (type === 'user.message') effect.messages = 1
  else if (type === 'tool.call') effect.toolCalls = 1
  else if (type === 'llm.delta') effect.delta = true
  else if (type === 'session.title_updated' && typeof data['title'] === 'string')
    effect.title = { text: data['title'], provisional: data['provisional'] === true }
  else if (usage) {
    effect.inputTokens = number(data['input_tokens'])
    effect.outputTokens = number(data['output_tokens'])
    effect.costUsd = number(data['cost_usd'])
    if (typeof data['cost_unpriced_model'] === 'string') effect.unpriced = true
  }
  for (const _ in effect) return effect
  return null
}

/** The columns that effects change. */
export type Projected = {
  status: SessionStatus
  title: string | null
  /** 1 while the title is provisional. */
  provisional: 0 | 1
  message_count: number
  tool_call_count: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
  /** 1 once a call had no known rate. */
  unpriced: 0 | 1
  wake_id: number
  asked_id: number
  /** 0: no saga, 1: one is running, 2: one must be rolled back. */
  saga: 0 | 1 | 2
}

/** Applies the effect of event `id`. An archived session stays archived: late events only extend its log. */
export function applyEffect(row: Projected, id: number, effect: Effect): void {
  if (effect.status !== undefined && row.status !== 'archived') row.status = effect.status
  if (effect.title !== undefined) {
    row.title = effect.title.text
    row.provisional = effect.title.provisional ? 1 : 0
  }
  if (effect.saga === 'begins') row.saga = 1
  else if (effect.saga === 'ends') row.saga = 0
  else if (effect.saga === 'rolls_back' && row.saga === 1) row.saga = 2
  if (effect.wakes === true) row.wake_id = id
  if (effect.asks === true) row.asked_id = id
  row.message_count += effect.messages ?? 0
  row.tool_call_count += effect.toolCalls ?? 0
  row.input_tokens += effect.inputTokens ?? 0
  row.output_tokens += effect.outputTokens ?? 0
  row.cost_usd += effect.costUsd ?? 0
  if (effect.unpriced === true) row.unpriced = 1
}
