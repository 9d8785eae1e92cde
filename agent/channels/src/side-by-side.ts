/** Runs tasks of different keys side by side and one of a key at a time. */
export type SideBySide = {
  size(): number
  /** False: one of that key is under way. */
  begin(key: string, task: () => Promise<void>): boolean
  idle(): Promise<void>
}

export function createSideBySide(onError: (error: unknown) => void): SideBySide {
  const running = new Map<string, Promise<void>>()
  return {
    size: () => running.size,
    begin(key, task) {
      if (running.has(key)) return false
      const run = task()
        .catch(onError)
        .finally(() => running.delete(key))
      running.set(key, run)
      return true
    },
    idle: async () => void (await Promise.all(running.values())),
  }
}
