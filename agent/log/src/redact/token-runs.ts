/**
 * All tokens that have a prefix, as they arrive. There are dozens of alphabets to look for, and nearly no
 * text holds one of the prefixes: until one was seen, a single pass over what is new is all that a piece
 * costs.
 */
import { PREFIXES, prefixWords, TOKEN_RUNS } from './prefixed-tokens.ts'
import { compileRun, type Stretches } from './runs.ts'
import { createWordFinder } from './word-finder.ts'

const RUNS = TOKEN_RUNS.map(compileRun)
const LONGEST = Math.max(...PREFIXES.map(prefix => prefix.length))
const findPrefix = createWordFinder(prefixWords(1, { whole: false }))

export class TokenRuns implements Stretches {
  /** Null: no prefix was seen yet, so none of them has found anything. */
  #runs: Stretches[] | null = null

  grow(text: string, base: number, from: number): void {
    if (this.#runs === null) {
      // A prefix may have begun in what was there before.
      if (findPrefix(text.slice(Math.max(0, from - base - LONGEST))) === 0) return
      this.#runs = RUNS.map(createRun => createRun())
    }
    for (const run of this.#runs) run.grow(text, base, from)
  }

  begins(at: number, floor: number): number {
    return this.#runs === null ? at : Math.min(...this.#runs.map(run => run.begins(at, floor)))
  }

  forget(at: number): void {
    for (const run of this.#runs ?? []) run.forget(at)
  }
}
