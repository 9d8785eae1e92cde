/**
 * Runs what it is given one after the other, in the order given. What one rejects with is its caller's and
 * stops no other.
 */
export function createMutex(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return run => {
    const mine = last.then(run)
    last = mine.then(
      () => {},
      () => {},
    )
    return mine
  }
}
