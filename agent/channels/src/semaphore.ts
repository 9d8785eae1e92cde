/** At most `max` holders at a time; others wait in order of arrival. */
export type Semaphore = {
  /** Resolves with a function that releases it, to be called once. */
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
