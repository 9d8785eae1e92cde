/**
 * Converts tokens to text as they come: no partial characters, and no text that may still become a stop
 * string.
 */
import type { ModelTokenizer } from '@cairn-tune/weights'

type Texts = Pick<ModelTokenizer, 'decode' | 'pieceOf'>
export type TextOptions = {
  tokenizer: Texts
  stop: readonly string[]
  includesStop: boolean
  skipsSpecial: boolean
}

export type TextStream = {
  /** Text that is final, and the stop string that ended it, if any. */
  push(token: number): { text: string; stop: string | undefined }
  /** Returns the text held back. */
  flush(): string
}

/**
 * Complete characters of the tokens so far that were not returned yet. `flush` returns the rest, including
 * broken ones.
 */
type Characters = { push(token: number): string; flush(): string }

/** A decoder's output for incomplete characters. */
const BROKEN = '\u{fffd}'

function readPieces(
  pieceOf: NonNullable<Texts['pieceOf']>,
  options: { skipSpecialTokens: boolean },
): Characters {
  const bytes = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    push(token) {
      const piece = pieceOf(token, options)
      if (typeof piece !== 'string') return bytes.decode(piece, { stream: true })
      // A skipped token may come between the bytes of a character.
      return piece === '' ? '' : bytes.decode() + piece
    },
    flush: () => bytes.decode(),
  }
}

/**
 * For tokenizers in which a token's text depends on its neighbours: compares the decoded text with and
 * without the token.
 */
function readDifferences(decode: Texts['decode'], options: { skipSpecialTokens: boolean }): Characters {
  // Tokens since the last boundary of complete characters. Those before `known` have been returned.
  let ids: number[] = []
  let known = 0

  function next(isLast: boolean): string {
    const [before, all] = [decode(ids.slice(0, known), options), decode(ids, options)]
    if (!isLast && all.endsWith(BROKEN)) return ''
    const text = all.slice(before.length)
    ids = isLast ? [] : ids.slice(known)
    known = ids.length
    return text
  }

  return {
    push(token) {
      ids.push(token)
      return next(false)
    },
    flush: () => next(true),
  }
}

export function createTextStream({
  tokenizer: { decode, pieceOf },
  stop,
  includesStop,
  skipsSpecial,
}: TextOptions): TextStream {
  const options = { skipSpecialTokens: skipsSpecial }
  let characters = pieceOf ? readPieces(pieceOf, options) : readDifferences(decode, options)
  let buffer = ''

  /** Takes the beginning of the buffer. */
  function take(length: number): string {
    const text = buffer.slice(0, length)
    buffer = buffer.slice(length)
    return text
  }

  return {
    push(token) {
      buffer += characters.push(token)
      if (stop.length === 0) return { text: take(buffer.length), stop: undefined }
      const found = stop
        .map(text => ({ text, index: buffer.indexOf(text) }))
        .filter(({ index }) => index >= 0)
        .toSorted((a, b) => a.index - b.index)[0]
      if (found) {
        const text = buffer.slice(0, found.index) + (includesStop ? found.text : '')
        // Text after a stop string is dropped.
        buffer = ''
        characters = { push: () => '', flush: () => '' }
        return { text, stop: found.text }
      }
      return {
        text: take(buffer.length - stop.reduce((max, text) => Math.max(max, overlap(buffer, text)), 0)),
        stop: undefined,
      }
    },
    flush: () => take(buffer.length) + characters.flush(),
  }
}

/** Length of the longest suffix of `text` that is a proper prefix of `stop`. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--)
    if (text.endsWith(stop.slice(0, length))) return length
  return 0
}
