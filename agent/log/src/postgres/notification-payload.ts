/** The messages between processes, as the payload of a notification. */

/** Short keys, because payloads are limited. */
export type Word =
  | { s: [session: string, from: number, to: number] }
  | { i: [org: string, item: string, at: number] }
  | { w: 1 }
  | { p: 1 }
type Message = { o: string; n: Word[] }

/** Postgres limits a notification to 8,000 bytes. */
const MAX_BYTES = 7_500

/** The key by which a message replaces a waiting one. */
export const subjectOf = (word: Word): string =>
  's' in word ? `s${word.s[0]}` : 'i' in word ? `i${word.i[1]}` : 'w' in word ? 'w' : 'p'

/** Merges messages of one session into the whole new range; of others the newer one remains. */
export const joinWords = (before: Word | undefined, word: Word): Word =>
  's' in word && before !== undefined && 's' in before
    ? { s: [word.s[0], Math.min(before.s[1], word.s[1]), Math.max(before.s[2], word.s[2])] }
    : word

/** The messages of another process; none if `self` sent them. */
export function readWords(self: string, payload: string): Word[] {
  const { o, n } = JSON.parse(payload) as Message
  return o === self ? [] : n
}

/** Packs the messages into as few notifications as possible. */
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
