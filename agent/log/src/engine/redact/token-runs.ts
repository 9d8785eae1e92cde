/**
 * All streamed tokens with a prefix. There are dozens of alphabets to track, and few texts contain a
 * prefix: until one occurs, a piece costs a single scan of the new text.
 */
import { PREFIXES, prefixWords, TOKEN_RUNS } from './prefixed-tokens.ts'
import { compileRun, type Stretches } from './runs.ts'
import { createWordFinder } from './word-finder.ts'

const RUNS = TOKEN_RUNS.map(compileRun)
const MAX_PREFIX_CHARS = Math.max(...PREFIXES.map(prefix => prefix.length))
const findPrefix = createWordFinder(prefixWords(1, { whole: false }))

export class TokenRuns implements Stretches {
  /** Null until a prefix has occurred. */
  #runs: Stretches[] | null = null

  grow(text: string, base: number, from: number): void {
    if (this.#runs === null) {
      // A prefix may have started in the earlier text.
      if (findPrefix(text.slice(Math.max(0, from - base - MAX_PREFIX_CHARS))) === 0) return
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
