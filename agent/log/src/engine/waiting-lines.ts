/**
 * Requests that wait for the writer, in two queues. Commits that start or continue work go first; chunks of
 * streaming answers (`Commit.can_wait`) follow, and a quarter of each batch is reserved for them, so that
 * they cannot starve. Each queue is in order; a turn never has commits waiting in both at once.
 */
export type WaitingLines<T> = {
  push(item: T, canWait: boolean): void
  /** The next batch, at most `most`, in order of priority. */
  take(most: number): T[]
  size(): number
  /** Removes and returns the rest, in any order. */
  empty(): T[]
}

/** One in this many entries of a batch is reserved for requests that can wait. */
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
