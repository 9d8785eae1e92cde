/** When a conversation is compacted (contract 7), decided from the position alone. Pure. */
import type { CompactReason, Conversation, Measured, TurnState } from '@cairn/state'
import { chooseCut, type Cut } from './cut.ts'
import { estimateTokens, tokensOfEntries } from './size.ts'

/**
 * The model's window, and how much of it a request may take before the conversation is compacted; in tokens.
 */
export type Window = {
  tokens: number
  compact_at: number
  /** System prompt and tools, which go along with every request. */ overhead: number
}

export type CompactPosition = {
  readonly conversation: Conversation
  readonly turn: Pick<TurnState, 'compactions'>
  readonly measured: Measured
  /** Why the conversation was last compacted, if the model has not answered since. */
  readonly compacted: CompactReason | null
}

/** More than this within one turn would be treading on the spot. */
export const COMPACTIONS_PER_TURN = 2
/** A compaction that frees less of the window than this is not worth a call of a model. */
const WORTHWHILE = 0.1

/**
 * The cut to make before the next request, or null. After a compaction the model must answer before there is
 * another.
 */
export function cutDue(position: CompactPosition, window: Window): Cut | null {
  const { conversation, turn, measured, compacted } = position
  if (compacted !== null || turn.compactions >= COMPACTIONS_PER_TURN || conversation.open.length > 0)
    return null
  if (estimateTokens(conversation.entries, measured, window.overhead) < window.compact_at) return null
  return chooseCut(conversation.entries, window.tokens, window.tokens * WORTHWHILE)
}

/**
 * The cut to make when the server said that the request was too long, or null: then the session fails. Once
 * per request.
 */
export function cutAfterOverflow({ conversation, turn, compacted }: CompactPosition): Cut | null {
  if (compacted === 'overflow' || turn.compactions >= COMPACTIONS_PER_TURN) return null
  return cutNow(conversation)
}

/**
 * The cut that frees most of what there is, whatever the window is said to be: the server just proved that
 * wrong, or a person asked.
 */
export function cutNow({ entries, open }: Conversation): Cut | null {
  return open.length > 0 ? null : chooseCut(entries, tokensOfEntries(entries))
}
