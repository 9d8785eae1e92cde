/**
 * How many turns begin at once. A turn costs most before it asks a model. Where the process has no time to
 * spare, many that begin together only make each other late, and those that run: then a few do, one after
 * the other (decision 20).
 */
import type { Clock } from './clock.ts'

/** In a process that has no time to spare. */
const MAX_STARTING = 8
/** A turn that takes longer to begin waits for something else than this process. */
const MAX_START_MS = 250
/** Nobody waits longer: far beyond what the machine can do all are late, and the new ones not most. */
const MAX_WAIT_MS = 800

export type TurnAdmission = {
  /** Resolves when one more may begin, with what says that it has. */
  enter(): Promise<() => void>
}

export function createTurnAdmission({
  clock,
  isBusy,
}: {
  clock: Pick<Clock, 'after'>
  isBusy: () => boolean
}): TurnAdmission {
  const waiting: (() => void)[] = []
  let starting = 0

  const hasRoom = (): boolean => starting < MAX_STARTING || !isBusy()

  function take(): () => void {
    starting += 1
    let isOver = false
    const leave = (): void => {
      cancel()
      if (isOver) return
      isOver = true
      starting -= 1
      while (waiting.length > 0 && hasRoom()) waiting.shift()?.()
    }
    const cancel = clock.after(MAX_START_MS, leave)
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
            const cancel = clock.after(MAX_WAIT_MS, () => {
              waiting.splice(waiting.indexOf(enter), 1)
              enter()
            })
            waiting.push(enter)
          }),
  }
}
