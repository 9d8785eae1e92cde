/**
 * Limits how many turns start at once. A turn costs most before its first model call. In a saturated process,
 * starting many together delays all of them and the running ones, so they start a few at a time (decision
 * 20).
 */
import type { Clock } from '@cairn/models/clock'

/** Maximum concurrent starts in a saturated process. */
const MAX_STARTING = 8
/** A turn that takes longer to start waits for something other than this process. */
const MAX_START_MS = 250
/** Maximum queueing time: under heavy overload, starting late is better than starving new turns. */
const MAX_WAIT_MS = 800

export type TurnAdmission = {
  /** Resolves when one more turn may start, with a function that reports that it has. */
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
