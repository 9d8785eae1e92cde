/** A keyed queue: tasks with different keys run concurrently, those with one key one at a time. */
export type KeyedTasks = {
  size(): number
  /** False if a task with that key is running. */
  begin(key: string, task: () => Promise<void>): boolean
  idle(): Promise<void>
}

export function createKeyedTasks(onError: (error: unknown) => void): KeyedTasks {
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
