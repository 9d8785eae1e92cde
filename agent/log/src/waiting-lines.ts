/**
 * What waits for the writer, in two lines. Commits that begin or go on with work go first; chunks of answers
 * that stream already (`Commit.can_wait`) follow, and a quarter of each batch is theirs, so that they never
 * stand still. Each line is in order; a turn never has a commit in one while it waits for another in the
 * other.
 */
export type WaitingLines<T> = {
  push(item: T, canWait: boolean): void
  /** The next batch, at most so many; what goes first comes first. */
  take(most: number): T[]
  size(): number
  /** Whatever is left, out of order. */
  empty(): T[]
}

/** One place in so many of a batch is kept for those that can wait. */
const KEPT_PART = 4

export function createWaitingLines<T>(): WaitingLines<T> {
  let first: T[] = []
  let later: T[] = []
  return {
    push: (item, canWait) => void (canWait ? later : first).push(item),
    take(most) {
      const kept = Math.min(later.length, Math.ceil(most / KEPT_PART))
      const taken = first.slice(0, most - kept)
      const rest = later.slice(0, most - taken.length)
      first = first.slice(taken.length)
      later = later.slice(rest.length)
      return rest.length === 0 ? taken : taken.concat(rest)
    },
    size: () => first.length + later.length,
    empty() {
      const all = first.concat(later)
      first = []
      later = []
      return all
    },
  }
}
