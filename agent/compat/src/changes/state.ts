/** The state of the fold: plain data, so that it can be copied and compared. */
import type { EventId } from '@cairn/protocol'
import type { Boundary } from './boundary.ts'
import type { Change, Usage } from './change.ts'

/** What the current model call has shown so far. */
export type ShownAnswer = {
  /** Id of its texts: the event of its llm.request, or of what replaced that attempt. */
  part: EventId
  text: string
  reasoning: string
  open: { text: boolean; reasoning: boolean }
  /** Its llm.response is in the log. */
  done: boolean
}

/**
 * held      not shown yet: the next events say whether a person is asked
 * open      shown, without a result
 * gated     shown, a person decides
 * approved  a person approved it; the agent is to repeat it
 * done      its result was shown, or it was rejected
 * hidden    a repetition that is not shown, or a call that is shown as a question
 */
type CallState = 'held' | 'open' | 'gated' | 'approved' | 'done' | 'hidden'
export type OpenCall = {
  name: string
  input: Record<string, unknown>
  state: CallState
  /** The step that shows it. */
  step: EventId
  /** The event of its approval; null: none was asked for. */
  gate: EventId | null
  /** The call is of a coding agent's run, which continues by itself and reports no result. */
  of_run: boolean
}

export type OpenAsk = {
  /** Id of the call that shows it. */
  call: string
  tool_call_id: string | null
  item_id: string | null
  kind: 'question' | 'action'
}

export type FoldState = {
  /** The first message of the open exchange; null before the first. */
  exchange: EventId | null
  running: boolean
  boundary: Boundary
  /** The llm.request that began the current step; 0 before the first. */
  step: EventId
  answer: ShownAnswer | null
  /** Calls of the exchange by id. */
  calls: Record<string, OpenCall>
  /** Ids of the gated calls by the event of their approval: a long exchange has many calls and few of them. */
  gates: Record<EventId, string>
  /** Ids of repeated calls, with the gated call that each repeats. */
  repeats: Record<string, string>
  /** Calls of the last answer that have no result. */
  pending: string[]
  /** Open questions and actions by their event. */
  asks: Record<EventId, OpenAsk>
  total: Usage
}

export const emptyFold = (): FoldState => ({
  exchange: null,
  running: false,
  boundary: { running: false },
  step: 0,
  answer: null,
  calls: {},
  gates: {},
  repeats: {},
  pending: [],
  asks: {},
  total: { input_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0, cost_usd: 0 },
})

/** The change if the turn waits for a person now: every call without a result is one that asks. */
export function restIfWaiting(state: FoldState): Change[] {
  const asking = new Set(Object.values(state.asks).map(ask => ask.tool_call_id))
  if (!state.running || asking.size === 0 || !state.pending.every(call => asking.has(call))) return []
  state.running = false
  return [{ kind: 'ended', end: { reason: 'waits' }, open: stillOpen(state) }]
}

export const stillOpen = ({ gates, asks }: FoldState): Extract<Change, { kind: 'ended' }>['open'] => ({
  approvals: Object.keys(gates).map(Number),
  asks: Object.keys(asks).map(Number),
})
