/** Runs functions one after the other, in call order. A rejection goes to its caller and stops no other. */
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
