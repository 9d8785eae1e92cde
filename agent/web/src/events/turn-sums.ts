/**
 * The usage of each turn, summed in place as events arrive. A turn starts with the first message, resume or
 * wake after the end of the previous one, and includes every later wake: after a crash, an answer or a pause.
 */
import { factsOf, isHeld, type SessionEvent, toolError } from '@cairn/protocol'

type TurnEnding = 'completed' | 'budget_exhausted' | 'tool_loop' | 'stopped' | 'paused' | 'failed'

export type TurnSums = {
  /** From 1, in log order. */
  number: number
  /** Index of its first event. */
  startIndex: number
  startId: number
  lastId: number
  /** Unix milliseconds. The end is the time of the last event of the turn's work. */
  startedAt: number
  endedAt: number
  events: number
  llmCalls: number
  toolCalls: number
  toolErrors: number
  /** Calls held for approval: neither run nor failed. */
  toolsHeld: number
  inputTokens: number
  outputTokens: number
  reasoningTokens: number
  cacheReadTokens: number
  costUsd: number
  /** At least one call had no price: the cost is a lower bound. */
  unpriced: boolean
  crashes: number
  recoveries: number
  /** Times a runner resumed the turn; more than one if it was interrupted. */
  wakes: number
  /** A background review of memory and skills, not an answer to the user. */
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
 * Whether an event starts a turn: its type can, and the previous turn has ended other than by a pause. A
 * review is always a turn of its own.
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

/** Adds an event to its turn. Changes `turn` in place, to avoid a copy for each event. */
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
