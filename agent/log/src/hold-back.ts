/**
 * Secrets that arrive in pieces (contract 2.5 and 11.5). The redactor sees one event at a time, so whoever
 * writes a text piece by piece must not part what it would take out: here it learns how much of the text may
 * go, and what could yet become a secret.
 */
import { CONTEXT_BEGUN } from './redact/in-context.ts'
import { openBlock } from './redact/key-blocks.ts'
import { TOKEN_BEGUN } from './redact/prefixed-tokens.ts'
import { encodeInJson } from './redact.ts'

const BEGUN: readonly RegExp[] = [TOKEN_BEGUN, ...CONTEXT_BEGUN]

/** Twice the largest block of a key. No text waits longer, whatever it may become. */
const MOST_HELD = 65_536
const MOST_ROUNDS = 16

/** Where the longest end of the text begins that is the beginning of `value`, and not the whole of it. */
function beginningOf(value: string, text: string): number {
  for (let length = Math.min(value.length - 1, text.length); length > 0; length--)
    if (text.endsWith(value.slice(0, length))) return text.length - length
  return text.length
}

/**
 * Up to which index a text may be written: from there on it may be the beginning of a secret. `known` as for
 * `createRedactor`.
 */
export function createHoldBack(known: readonly string[] = []): (text: string) => number {
  const values = [...new Set(known.flatMap(value => [value, encodeInJson(value)]))]
  const begins = (text: string): number => {
    let end = Math.min(
      openBlock(text),
      ...BEGUN.map(shape => shape.exec(text)?.index ?? text.length),
      ...values.map(value => beginningOf(value, text)),
    )
    // An escape of a JSON text within the text stays whole: without its backslash the letter would be taken
    // for one of the secret after it.
    while (text[end - 1] === '\\') end -= 1
    return end
  }
  return whole => {
    const passed = Math.max(0, whole.length - MOST_HELD)
    const text = whole.slice(passed)
    // What one secret may begin with may be the end of another. A text that only ever begins one waits whole.
    let end = text.length
    for (let round = 0, before = -1; before !== end; round++) {
      before = end
      end = round < MOST_ROUNDS ? begins(text.slice(0, end)) : 0
    }
    return passed + end
  }
}
