/** What processes say to each other, as it stands in a notification. */

/** Short keys, for space is short. */
export type Word =
  | { s: [session: string, from: number, to: number] }
  | { i: [org: string, item: string, at: number] }
  | { w: 1 }
  | { p: 1 }
type Message = { o: string; n: Word[] }

/** Postgres takes 8,000 bytes a notification. */
const MAX_BYTES = 7_500

/** What of the waiting words this one takes the place of. */
export const subjectOf = (word: Word): string =>
  's' in word ? `s${word.s[0]}` : 'i' in word ? `i${word.i[1]}` : 'w' in word ? 'w' : 'p'

/** Of one session the whole stretch that is new; of anything else the newer word. */
export const joinWords = (before: Word | undefined, word: Word): Word =>
  's' in word && before !== undefined && 's' in before
    ? { s: [word.s[0], Math.min(before.s[1], word.s[1]), Math.max(before.s[2], word.s[2])] }
    : word

/** What another process said; nothing of what `self` said. */
export function readWords(self: string, payload: string): Word[] {
  const { o, n } = JSON.parse(payload) as Message
  return o === self ? [] : n
}

/** As few messages as the words fit in. */
export function* packWords(self: string, words: readonly Word[]): Generator<string> {
  let texts: string[] = []
  let bytes = 0
  const message = (): string => `{"o":${JSON.stringify(self)},"n":[${texts.join(',')}]}`
  for (const word of words) {
    const text = JSON.stringify(word)
    const length = Buffer.byteLength(text) + 1
    if (bytes + length > MAX_BYTES) {
      yield message()
      texts = []
      bytes = 0
    }
    texts.push(text)
    bytes += length
  }
  yield message()
}
