/** At most `max` holders at once; the others wait in the order in which they came. */
export type Semaphore = {
  /** Resolves with how to release it, which may be called once. */
  acquire(): Promise<() => void>
}

export function createSemaphore(max: number): Semaphore {
  let free = max
  const waiting: (() => void)[] = []
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
  return {
    async acquire() {
      if (free > 0) free -= 1
      else await new Promise<void>(resolve => waiting.push(resolve))
      return release
    },
  }
}
