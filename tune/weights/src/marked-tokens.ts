/** Marks the tokens of the text that the assistant wrote. */
import type { ChatPiece } from './chat-template.ts'

/** Ids of a text with the place of each token in it, as indices of the string. */
export type PlacedTokens = { ids: number[]; offsets: readonly (readonly [start: number, end: number])[] }

export type MarkedTokens = { ids: number[]; isAssistant: boolean[] }

/**
 * Marks the tokens of the text that the pieces make together. A token at the border of two pieces belongs
 * to the assistant, as in transformers. A token that stands for no text, such as an added end token,
 * belongs to the text in front of it.
 */
export function markTokens({ ids, offsets }: PlacedTokens, pieces: readonly ChatPiece[]): MarkedTokens {
  const ends: { end: number; isAssistant: boolean }[] = []
  let length = 0
  for (const { text, isAssistant } of pieces) ends.push({ end: (length += text.length), isAssistant })
  let at = 0
  let previous = false
  const isAssistant = offsets.map(([start, end]) => {
    if (start === end) return previous
    while (at < ends.length - 1 && (ends[at]?.end ?? length) <= start) at++
    previous = false
    for (let piece = at; piece < ends.length; piece++) {
      previous ||= ends[piece]?.isAssistant === true
      if ((ends[piece]?.end ?? length) >= end) break
    }
    return previous
  })
  return { ids, isAssistant }
}
