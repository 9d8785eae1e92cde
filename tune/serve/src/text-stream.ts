/** Tokens to text as they come: no half character, no text that may still turn out to be a stop string. */
import type { ModelTokenizer } from '@cairn-tune/weights'

type Texts = Pick<ModelTokenizer, 'decode' | 'pieceOf'>
export type TextOptions = {
  tokenizer: Texts
  stop: readonly string[]
  includesStop: boolean
  skipsSpecial: boolean
}

export type TextStream = {
  /** Text that is certain now, and the stop string that ended it, if one did. */
  push(token: number): { text: string; stop: string | undefined }
  /** What was held back. */
  flush(): string
}

/**
 * Whole characters of the tokens so far that were not given out; `flush` gives what is left of broken ones.
 */
type Characters = { push(token: number): string; flush(): string }

/** What a decoder writes for bytes that are no whole character. */
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
      // A token that is left out may stand between the bytes of a character.
      return piece === '' ? '' : bytes.decode() + piece
    },
    flush: () => bytes.decode(),
  }
}

/** For tokenizers that know a token's text only beside others: what more there is with it than without. */
function readDifferences(decode: Texts['decode'], options: { skipSpecialTokens: boolean }): Characters {
  // Tokens since a place where characters were whole; those before `known` have been given out.
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

  /** Gives out the beginning of what is held. */
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
        // Nothing that comes after a stop string is text.
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

/** Length of the longest end of `text` that `stop` begins with, short of all of it. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--)
    if (text.endsWith(stop.slice(0, length))) return length
  return 0
}
