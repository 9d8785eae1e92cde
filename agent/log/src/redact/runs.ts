/**
 * Secrets without a fixed length, as they arrive: a beginning, and behind it as many characters of one
 * alphabet as come. What is new is looked at once; all that is carried over is where each began and how far
 * it went. Positions count from the beginning of the whole text, of which `base` characters are gone.
 */

/** `head` and `body` are sources of regular expressions, `body` of one character. */
export type RunRule = {
  head: string
  body: string
  flags?: string
  /** No head is longer. */ longest: number
}

/** What may be a secret: from `start` on, over at `end`; null while it may go on. */
type Stretch = { start: number; end: number | null }

export type Stretches = {
  /** The text has grown since it ended at `from`. */
  grow(text: string, base: number, from: number): void
  /** Where the earliest begins, of those not before `floor`, that could still go on at `at`; else `at`. */
  begins(at: number, floor: number): number
  /** Nobody asks for anything before `at` again. */
  forget(at: number): void
}

/** The patterns are compiled once, for every text: nothing but its runs belongs to a text. */
export function compileRun({ head, body, flags = '', longest }: RunRule): () => Stretches {
  const rule = {
    headAt: new RegExp(head, `g${flags}`),
    bodyAt: new RegExp(`${body}*`, `y${flags}`),
    longest,
  }
  return () => new Runs(rule)
}

/** Both patterns are told where to begin before each use. */
type CompiledRule = { headAt: RegExp; bodyAt: RegExp; longest: number }

/** A class, for each answer has forty of them and few ever find anything: one object, and no closures. */
class Runs implements Stretches {
  readonly #rule: CompiledRule
  /** Starts and ends grow alike: what begins within a run and ends with it is no run of its own. */
  #runs: Stretch[] = NONE

  constructor(rule: CompiledRule) {
    this.#rule = rule
  }

  #endOf(text: string, from: number): number | null {
    const { bodyAt } = this.#rule
    bodyAt.lastIndex = from
    bodyAt.exec(text)
    return bodyAt.lastIndex === text.length ? null : bodyAt.lastIndex
  }

  grow(text: string, base: number, from: number): void {
    const { headAt, longest } = this.#rule
    let covered = from - base
    const last = this.#runs.at(-1)
    if (last?.end === null) {
      const end = this.#endOf(text, covered)
      if (end === null) return
      last.end = base + end
      covered = end
    }
    for (let next = Math.max(0, covered - longest); ;) {
      headAt.lastIndex = next
      const found = headAt.exec(text)
      if (found === null) return
      next = found.index + 1
      const behind = found.index + found[0].length
      if (behind <= covered) continue
      const end = this.#endOf(text, behind)
      const run = { start: base + found.index, end: end === null ? null : base + end }
      if (this.#runs === NONE) this.#runs = [run]
      else this.#runs.push(run)
      if (end === null) return
      covered = end
      next = Math.max(next, covered - longest)
    }
  }

  begins(at: number, floor: number): number {
    let low = 0
    for (let high = this.#runs.length; low < high;) {
      const middle = (low + high) >> 1
      const { start = 0, end = null } = this.#runs[middle] ?? {}
      if (start < floor || (end !== null && end < at)) low = middle + 1
      else high = middle
    }
    return Math.min(at, this.#runs[low]?.start ?? at)
  }

  forget(at: number): void {
    if (this.#runs.length > 0) this.#runs = this.#runs.filter(({ end }) => end === null || end > at)
  }
}
const NONE: Stretch[] = []
