/**
 * Redacts secrets that arrive in pieces (contract 2.5 and 11.5). The redactor sees one event at a time, so a
 * streamed text must not be split inside a secret: text is held back while its end could still become one.
 *
 * Each piece is scanned once, with a bounded part of the text before it. Secrets without a maximum length (a
 * token, a key block) are tracked as positions (redact/runs.ts), so that a text full of beginnings of secrets
 * costs no more than any other text of its length.
 */
import { PARTIAL_COMMAND, MAX_SHORT_CHARS } from './redact/in-commands.ts'
import { PARTIAL_CONTEXT, CONTEXT_RUNS, MAX_PARTIAL_CHARS } from './redact/in-context.ts'
import { createKeyBlocks, PARTIAL_KEY_BLOCK } from './redact/key-blocks.ts'
import { PARTIAL_TOKEN } from './redact/prefixed-tokens.ts'
import { compileRun, type RunRule } from './redact/runs.ts'
import { TokenRuns } from './redact/token-runs.ts'
import { encodeInJson } from './redact.ts'

type Source = readonly [source: string, flags: string]
const compile = ([source, flags]: Source): RegExp => new RegExp(source, `g${flags}`)
const PARTIAL = [[PARTIAL_TOKEN, ''] as const, [PARTIAL_KEY_BLOCK, ''] as const, ...PARTIAL_CONTEXT].map(
  compile,
)
const SHORT = [compile(PARTIAL_COMMAND)]
/**
 * An escape of a JSON text within the text is kept whole: without its backslash, the letter would be taken
 * for part of the secret after it.
 */
const BACKSLASHES: RunRule = { head: String.raw`\\`, body: String.raw`\\`, max: 1 }
/** Control sequences are kept whole for the same reason. */
const SEQUENCE: RunRule = {
  head: String.raw`(?:\x1b|u001[bB])[\[()*+]?`,
  // A series of them is one run.
  body: String.raw`[\x1b\\[0-9;:?<=>ub]`,
  max: 7,
}
const RUNS = [...CONTEXT_RUNS, BACKSLASHES, SEQUENCE].map(compileRun)

/** Twice the maximum size of a key block. No text is held back longer. */
const MAX_HELD_CHARS = 65_536
const MAX_ROUNDS = 16

/** Start of the longest suffix of the text that is a proper prefix of `value`. */
function beginningOf(value: string, text: string): number {
  for (let length = Math.min(value.length - 1, text.length); length > 0; length--)
    if (text.endsWith(value.slice(0, length))) return text.length - length
  return text.length
}

/** Start of the first match of the patterns at the end of the text, from `from` on. */
const firstOf = (shapes: readonly RegExp[], text: string, from: number): number =>
  shapes.reduce((first, shape) => {
    shape.lastIndex = from
    return Math.min(first, shape.exec(text)?.index ?? text.length)
  }, text.length)

/** One streamed text. */
export type StreamRedactor = {
  /** Adds a piece; returns what may be written now. */
  push(chunk: string): string
  /** Returns the rest at the end of the text. */
  rest(): string
}

/** `known` as for `createRedactor`. */
export function createStreamRedactor(known: readonly string[] = []): () => StreamRedactor {
  const values = [...new Set(known.flatMap(value => [value, encodeInJson(value)]))]
  return () => {
    const growing = [createKeyBlocks(), new TokenRuns(), ...RUNS.map(createRun => createRun())]
    let held = ''
    /** Characters that were returned so far, which is the position of `held` in the whole text. */
    let base = 0

    /** The latest position at which a text that ends at `at` may be cut. */
    function begins(at: number, floor: number): number {
      const text = held.slice(0, at - base)
      const from = Math.max(floor - base, text.length - MAX_PARTIAL_CHARS)
      const begun = Math.min(
        firstOf(PARTIAL, text, from),
        firstOf(SHORT, text, Math.max(from, text.length - MAX_SHORT_CHARS)),
      )
      const end = text.slice(floor - base)
      const starts = values.map(value => beginningOf(value, end) + floor - base)
      return Math.min(base + Math.min(begun, ...starts), ...growing.map(one => one.begins(at, floor)))
    }

    function take(until: number): string {
      const taken = held.slice(0, until - base)
      held = held.slice(until - base)
      base = until
      for (const one of growing) one.forget(until)
      return taken
    }

    return {
      push(chunk) {
        const from = base + held.length
        held += chunk
        for (const one of growing) one.grow(held, base, from)
        const whole = from + chunk.length
        const floor = Math.max(base, whole - MAX_HELD_CHARS)
        // The beginning of one secret may be the end of another, so the cut is repeated. A text of nothing
        // but such beginnings is held back completely.
        let end = whole
        for (let round = 0, before = -1; before !== end; round++) {
          before = end
          end = round < MAX_ROUNDS ? begins(end, floor) : floor
        }
        return take(end)
      },
      rest: () => take(base + held.length),
    }
  }
}
