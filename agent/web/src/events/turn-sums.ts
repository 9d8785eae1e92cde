/**
 * What each turn used; the sums grow in place as events arrive. A turn begins with the first message, resume
 * or wake after the one before has ended, and takes in every later wake: after a crash, after an answer it
 * waited for, after a pause.
 */
import { factsOf, isHeld, type SessionEvent, toolError } from '@cairn/protocol'

type TurnEnding = 'completed' | 'budget_exhausted' | 'tool_loop' | 'stopped' | 'paused' | 'failed'

export type TurnSums = {
  /** From 1, in log order. */
  number: number
  /** Position of its first event. */
  startIndex: number
  startId: number
  lastId: number
  /** Unix milliseconds. The end is the last event that belongs to the turn's work. */
  startedAt: number
  endedAt: number
  events: number
  llmCalls: number
  toolCalls: number
  toolErrors: number
  /** Held for an approval: not run, and no failure. */
  toolsHeld: number
  inputTokens: number
  outputTokens: number
  reasoningTokens: number
  cacheReadTokens: number
  costUsd: number
  /** Some call had no catalogue rate: the cost is a lower bound. */
  unpriced: boolean
  crashes: number
  recoveries: number
  /** Times a worker took it up: more than one when it was interrupted. */
  wakes: number
  /** Background review of memory and skills, not an answer to the user. */
  review: boolean
  ending: TurnEnding | null
}

type UsageKeys = {
  input_tokens?: unknown
  output_tokens?: unknown
  reasoning_tokens?: unknown
  cache_read_tokens?: unknown
  cost_usd?: unknown
  cost_unpriced_model?: unknown
}

const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

const isReview = (event: SessionEvent): boolean =>
  event.type === 'harness.wake' && 'review_memory' in event.data

/**
 * Whether an event begins a turn: one that may, when nothing is left of the turn before but at most a pause.
 */
export const startsTurn = (before: TurnSums | undefined, event: SessionEvent): boolean =>
  factsOf(event.type).starts_turn === true &&
  (before === undefined ||
    before.review ||
    isReview(event) ||
    (before.ending !== null && before.ending !== 'paused'))

export function startTurn(event: SessionEvent, index: number, turnNumber: number): TurnSums {
  const at = Date.parse(event.created_at)
  return {
    number: turnNumber,
    startIndex: index,
    startId: event.id,
    lastId: event.id,
    startedAt: at,
    endedAt: at,
    events: 1,
    llmCalls: 0,
    toolCalls: 0,
    toolErrors: 0,
    toolsHeld: 0,
    inputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    costUsd: 0,
    unpriced: false,
    crashes: 0,
    recoveries: 0,
    wakes: event.type === 'harness.wake' ? 1 : 0,
    review: isReview(event),
    ending: null,
  }
}

/**
 * Adds one event to the turn it belongs to. Changes `turn`: a hundred thousand events must not make as many
 * copies.
 */
export function addToTurn(turn: TurnSums, event: SessionEvent): void {
  const { aftermath, usage } = factsOf(event.type)
  turn.events += 1
  turn.lastId = event.id
  if (turn.ending === null && !aftermath) turn.endedAt = Date.parse(event.created_at)
  if (usage) {
    const used = event.data as UsageKeys
    turn.llmCalls += event.type === 'llm.response' ? 1 : 0
    turn.inputTokens += number(used.input_tokens)
    turn.outputTokens += number(used.output_tokens)
    turn.reasoningTokens += number(used.reasoning_tokens)
    turn.cacheReadTokens += number(used.cache_read_tokens)
    turn.costUsd += number(used.cost_usd)
    turn.unpriced ||= used.cost_unpriced_model !== undefined
  }
  switch (event.type) {
    case 'tool.call':
      turn.toolCalls += 1
      break
    case 'tool.result':
      if (isHeld(event.data.content)) turn.toolsHeld += 1
      else if (toolError(event.data.content) !== null) turn.toolErrors += 1
      break
    case 'harness.wake':
      turn.wakes += 1
      turn.ending = null
      turn.endedAt = Date.parse(event.created_at)
      break
    case 'harness.crash':
      turn.crashes += 1
      break
    case 'harness.recovered':
      turn.recoveries += 1
      break
    case 'session.complete':
      turn.ending = event.data.reason
      break
    case 'session.fail':
      turn.ending = 'failed'
      break
    case 'session.stopped':
      turn.ending = 'stopped'
      break
    case 'session.pause':
      turn.ending = 'paused'
      break
    default:
  }
}
