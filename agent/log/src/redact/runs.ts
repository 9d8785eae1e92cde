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
  return () => createRun(rule)
}

/** Both patterns are told where to begin before each use. */
type CompiledRule = { headAt: RegExp; bodyAt: RegExp; longest: number }

function createRun({ headAt, bodyAt, longest }: CompiledRule): Stretches {
  /** Starts and ends grow alike: what begins within a run and ends with it is no run of its own. */
  let runs: Stretch[] = []

  function endOf(text: string, from: number): number | null {
    bodyAt.lastIndex = from
    bodyAt.exec(text)
    return bodyAt.lastIndex === text.length ? null : bodyAt.lastIndex
  }

  return {
    grow(text, base, from) {
      let covered = from - base
      const last = runs.at(-1)
      if (last?.end === null) {
        const end = endOf(text, covered)
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
        const end = endOf(text, behind)
        runs.push({ start: base + found.index, end: end === null ? null : base + end })
        if (end === null) return
        covered = end
        next = Math.max(next, covered - longest)
      }
    },
    begins(at, floor) {
      let low = 0
      for (let high = runs.length; low < high;) {
        const middle = (low + high) >> 1
        const { start = 0, end = null } = runs[middle] ?? {}
        if (start < floor || (end !== null && end < at)) low = middle + 1
        else high = middle
      }
      return Math.min(at, runs[low]?.start ?? at)
    },
    forget(at) {
      runs = runs.filter(({ end }) => end === null || end > at)
    },
  }
}
