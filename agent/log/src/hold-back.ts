/**
 * Secrets that arrive in pieces (contract 2.5 and 11.5). The redactor sees one event at a time, so whoever
 * writes a text piece by piece must not part what it would take out: here the text waits as long as its end
 * could yet become a secret.
 *
 * Each piece is looked at once, with a bounded part of what came before it. What may grow without a bound (a
 * token, a block of a key) is carried over as positions (redact/runs.ts), so that a text which only ever
 * begins secrets costs what any other of its length costs.
 */
import { COMMAND_BEGUN, LONGEST_SHORT } from './redact/in-commands.ts'
import { CONTEXT_BEGUN, CONTEXT_RUNS, LONGEST_BEGUN } from './redact/in-context.ts'
import { createKeyBlocks, KEY_BLOCK_BEGUN } from './redact/key-blocks.ts'
import { TOKEN_BEGUN } from './redact/prefixed-tokens.ts'
import { compileRun, type RunRule } from './redact/runs.ts'
import { TokenRuns } from './redact/token-runs.ts'
import { encodeInJson } from './redact.ts'

type Source = readonly [source: string, flags: string]
const compile = ([source, flags]: Source): RegExp => new RegExp(source, `g${flags}`)
const BEGUN = [[TOKEN_BEGUN, ''] as const, [KEY_BLOCK_BEGUN, ''] as const, ...CONTEXT_BEGUN].map(compile)
const SHORT = [compile(COMMAND_BEGUN)]
/**
 * An escape of a JSON text within the text stays whole: without its backslash the letter would be taken for
 * one of the secret after it.
 */
const BACKSLASHES: RunRule = { head: String.raw`\\`, body: String.raw`\\`, longest: 1 }
/** A control sequence stays whole for the same reason. */
const SEQUENCE: RunRule = {
  head: String.raw`(?:\x1b|u001[bB])[\[()*+]?`,
  // Whole rows of them are one run.
  body: String.raw`[\x1b\\[0-9;:?<=>ub]`,
  longest: 7,
}
const RUNS = [...CONTEXT_RUNS, BACKSLASHES, SEQUENCE].map(compileRun)

/** Twice the largest block of a key. No text waits longer, whatever it may become. */
const MOST_HELD = 65_536
const MOST_ROUNDS = 16

/** Where the longest end of the text begins that is the beginning of `value`, and not the whole of it. */
function beginningOf(value: string, text: string): number {
  for (let length = Math.min(value.length - 1, text.length); length > 0; length--)
    if (text.endsWith(value.slice(0, length))) return text.length - length
  return text.length
}

/** Where the first of the shapes begins that ends with the text, from `from` on. */
const firstOf = (shapes: readonly RegExp[], text: string, from: number): number =>
  shapes.reduce((first, shape) => {
    shape.lastIndex = from
    return Math.min(first, shape.exec(text)?.index ?? text.length)
  }, text.length)

/** One text on its way. */
export type HeldText = {
  /** Takes what arrived, and hands out what may be written. */
  push(piece: string): string
  /** What is left when nothing more arrives. */
  rest(): string
}

/** `known` as for `createRedactor`. */
export function createHoldBack(known: readonly string[] = []): () => HeldText {
  const values = [...new Set(known.flatMap(value => [value, encodeInJson(value)]))]
  return () => {
    const growing = [createKeyBlocks(), new TokenRuns(), ...RUNS.map(createRun => createRun())]
    let held = ''
    /** What was handed out, in characters: where `held` begins. Positions count from there on, and from 0. */
    let base = 0

    /** Where, at the latest, a text that ends at `at` is to be cut. */
    function begins(at: number, floor: number): number {
      const text = held.slice(0, at - base)
      const from = Math.max(floor - base, text.length - LONGEST_BEGUN)
      const begun = Math.min(
        firstOf(BEGUN, text, from),
        firstOf(SHORT, text, Math.max(from, text.length - LONGEST_SHORT)),
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
      push(piece) {
        const from = base + held.length
        held += piece
        for (const one of growing) one.grow(held, base, from)
        const whole = from + piece.length
        const floor = Math.max(base, whole - MOST_HELD)
        // What one secret may begin with may be the end of another. A text that only ever begins one waits
        // whole.
        let end = whole
        for (let round = 0, before = -1; before !== end; round++) {
          before = end
          end = round < MOST_ROUNDS ? begins(end, floor) : floor
        }
        return take(end)
      },
      rest: () => take(base + held.length),
    }
  }
}
