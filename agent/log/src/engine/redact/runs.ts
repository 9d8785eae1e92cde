/**
 * Streamed secrets without a fixed length: a beginning, followed by any number of characters of one alphabet.
 * New text is scanned once; only the start and end of each run are kept. Positions count from the start of
 * the whole text, of which `base` characters have been dropped.
 */

/** `head` and `body` are sources of regular expressions; `body` matches one character. */
export type RunRule = {
  head: string
  body: string
  flags?: string
  /** Maximum length of a head. */ max: number
}

/** A possible secret: from `start` to `end`, which is null while it may continue. */
type Stretch = { start: number; end: number | null }

export type Stretches = {
  /** The text has grown since it ended at `from`. */
  grow(text: string, base: number, from: number): void
  /** Start of the earliest run at or after `floor` that could still continue at `at`; otherwise `at`. */
  begins(at: number, floor: number): number
  /** Positions before `at` are no longer needed. */
  forget(at: number): void
}

/** Patterns are compiled once for all texts; only the runs belong to one text. */
export function compileRun({ head, body, flags = '', max }: RunRule): () => Stretches {
  const rule = {
    headAt: new RegExp(head, `g${flags}`),
    bodyAt: new RegExp(`${body}*`, `y${flags}`),
    max,
  }
  return () => new Runs(rule)
}

/** lastIndex of both patterns is set before each use. */
type CompiledRule = { headAt: RegExp; bodyAt: RegExp; max: number }

/** A class, because each answer has forty of them and few ever find anything: one object, and no closures. */
class Runs implements Stretches {
  readonly #rule: CompiledRule
  /** Starts and ends increase together: a run within another run that has the same end is dropped. */
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
    const { headAt, max } = this.#rule
    let covered = from - base
    const last = this.#runs.at(-1)
    if (last?.end === null) {
      const end = this.#endOf(text, covered)
      if (end === null) return
      last.end = base + end
      covered = end
    }
    for (let next = Math.max(0, covered - max); ;) {
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
      next = Math.max(next, covered - max)
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
