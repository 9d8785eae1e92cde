/** When a conversation is compacted (contract 7), decided from the position alone. Pure. */
import type { CompactReason, Conversation, Measured, TurnState } from '@cairn/state'
import type { OverflowSaid } from '../../turn/capability.ts'
import { chooseCut, type Cut } from './cut.ts'
import { estimateTokens, tokensOfEntries } from './size.ts'

/** The model's window, and the request size that triggers a compaction; in tokens. */
export type Window = {
  tokens: number
  compact_at: number
  /** System prompt and tools, which are part of every request. */ overhead: number
}

export type CompactPosition = {
  readonly conversation: Conversation
  readonly turn: Pick<TurnState, 'compactions'>
  readonly measured: Measured
  /** The reason of the last compaction if the model has not answered since. */
  readonly compacted: CompactReason | null
}

/** Maximum compactions per turn; more would make no progress. */
export const COMPACTIONS_PER_TURN = 2
/** A compaction that frees a smaller fraction of the window is not worth a model call. */
const WORTHWHILE = 0.1

/**
 * Tokens from which a conversation may be too long for a server whose window is unknown: half of 4096, the
 * smallest usual window. The system prompt and the tools take the rest.
 */
export const LONG = 2048

/** The cut to make before the next request, or null. The model must answer between two compactions. */
export function cutDue(position: CompactPosition, window: Window): Cut | null {
  const { conversation, turn, measured, compacted } = position
  if (compacted !== null || turn.compactions >= COMPACTIONS_PER_TURN || conversation.open.length > 0)
    return null
  if (estimateTokens(conversation.entries, measured, window.overhead) < window.compact_at) return null
  return chooseCut(conversation.entries, window.tokens, window.tokens * WORTHWHILE)
}

/**
 * The cut to make when the server refused the request; null: the session fails. Once per request. A refusal
 * without a cause is taken as an overflow only if the conversation is long by our own count.
 */
export function cutAfterOverflow(
  { conversation, turn, compacted }: CompactPosition,
  said: OverflowSaid,
): Cut | null {
  if (compacted === 'overflow' || turn.compactions >= COMPACTIONS_PER_TURN) return null
  if (said === 'no_cause' && tokensOfEntries(conversation.entries) < LONG) return null
  return cutNow(conversation)
}

/**
 * The cut that frees the most, whatever the configured window: the server just refuted it, or a person asked.
 */
export function cutNow({ entries, open }: Conversation): Cut | null {
  return open.length > 0 ? null : chooseCut(entries, tokensOfEntries(entries))
}
