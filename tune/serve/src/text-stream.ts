/** Tokens to text as they come: no half character, no text that may still turn out to be a stop string. */

type Decode = (ids: readonly number[], options?: { skipSpecialTokens?: boolean }) => string

export type TextOptions = { decode: Decode; stop: readonly string[]; includesStop: boolean; skipsSpecial: boolean }

export type TextStream = {
  /** Text that is certain now, and the stop string that ended it, if one did. */
  push(token: number): { text: string; stop: string | undefined }
  /** What was held back. */
  flush(): string
}

/** What a decoder writes for bytes that are no whole character. */
const BROKEN = '\u{fffd}'

export function createTextStream({ decode, stop, includesStop, skipsSpecial }: TextOptions): TextStream {
  const read = (ids: readonly number[]) => decode(ids, { skipSpecialTokens: skipsSpecial })
  // Tokens since a place where characters were whole; those before `known` have been given out.
  let ids: number[] = []
  let known = 0
  let held = ''

  function nextText(isLast: boolean): string {
    const [before, all] = [read(ids.slice(0, known)), read(ids)]
    if (!isLast && all.endsWith(BROKEN)) return ''
    const text = all.slice(before.length)
    ids = isLast ? [] : ids.slice(known)
    known = ids.length
    return text
  }

  return {
    push(token) {
      ids.push(token)
      held += nextText(false)
      const found = stop.map(text => ({ text, index: held.indexOf(text) })).filter(({ index }) => index >= 0).toSorted((a, b) => a.index - b.index)[0]
      if (found) {
        const text = held.slice(0, found.index) + (includesStop ? found.text : '')
        held = ''
        ids = []
        known = 0
        return { text, stop: found.text }
      }
      const keep = stop.reduce((most, text) => Math.max(most, overlap(held, text)), 0)
      const text = held.slice(0, held.length - keep)
      held = held.slice(held.length - keep)
      return { text, stop: undefined }
    },
    flush() {
      const text = held + nextText(true)
      held = ''
      return text
    },
  }
}

/** Length of the longest end of `text` that `stop` begins with, short of all of it. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) if (text.endsWith(stop.slice(0, length))) return length
  return 0
}
