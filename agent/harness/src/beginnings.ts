/**
 * How many turns begin at once. A turn costs most before it asks a model. Where the process has no time to
 * spare, many that begin together only make each other late, and those that run: then a few do, one after
 * the other (decision 20).
 */
import type { Clock } from './clock.ts'

/** In a process that has no time to spare. */
const MOST = 8
/** A turn that takes longer to begin waits for something else than this process. */
const LONGEST_MS = 250
/** Nobody waits longer: far beyond what the machine can do all are late, and the new ones not most. */
const PATIENCE_MS = 800

export type Beginnings = {
  /** Resolves when one more may begin, with what says that it has. */
  enter(): Promise<() => void>
}

export function createBeginnings({
  clock,
  isBusy,
}: {
  clock: Pick<Clock, 'after'>
  isBusy: () => boolean
}): Beginnings {
  const waiting: (() => void)[] = []
  let begin = 0

  const hasRoom = (): boolean => begin < MOST || !isBusy()

  function take(): () => void {
    begin += 1
    let isOver = false
    const leave = (): void => {
      cancel()
      if (isOver) return
      isOver = true
      begin -= 1
      while (waiting.length > 0 && hasRoom()) waiting.shift()?.()
    }
    const cancel = clock.after(LONGEST_MS, leave)
    return leave
  }

  return {
    enter: () =>
      waiting.length === 0 && hasRoom()
        ? Promise.resolve(take())
        : new Promise(resolve => {
            const enter = (): void => {
              cancel()
              resolve(take())
            }
            const cancel = clock.after(PATIENCE_MS, () => {
              waiting.splice(waiting.indexOf(enter), 1)
              enter()
            })
            waiting.push(enter)
          }),
  }
}
