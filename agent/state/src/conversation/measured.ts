/**
 * How much of the model's context window the conversation took when a server last counted it, as a fold of
 * the log.
 */
import type { SessionEvent } from '@cairn/protocol'
import type { Conversation } from './messages.ts'

/**
 * Tokens as counted by a server for the first `entries` of the conversation, the system prompt and the tools.
 * Null: unknown.
 */
export type Measured = { readonly tokens: number; readonly entries: number } | null

/** `before`: number of entries before the event; `after`: the conversation after it. */
export function foldMeasured(
  measured: Measured,
  event: SessionEvent,
  before: number,
  after: Conversation,
): Measured {
  if (event.type === 'context.compact') return null
  if (event.type !== 'llm.response' || event.data.turn_id === undefined || event.data.input_tokens === 0)
    return measured
  const { input_tokens, output_tokens, reasoning_tokens = 0 } = event.data
  const own = after.entries.findLastIndex(entry => entry.event_id === event.id)
  // Reasoning was billed but is not sent again.
  return {
    tokens: input_tokens + Math.max(0, output_tokens - reasoning_tokens),
    entries: own === -1 ? before : own + 1,
  }
}
