/** When the next call may go out. Pure but for what it remembers: the clock is an argument. */
import type { Limits } from './adapter.ts'

export type Pace = {
  /** Takes the next place of this conversation and of the connection; how long until it comes. */
  reserve(conversation: string, target: Record<string, unknown>, now: number): number
}

/** So many conversations are remembered; the oldest of them may long speak again. */
const REMEMBERED = 10_000

export function createPace({ everyMs, perSecond }: Pick<Limits, 'everyMs' | 'perSecond'>): Pace {
  const spokenAt = new Map<string, number>()
  let nextOfAll = 0
  return {
    reserve(conversation, target, now) {
      const own = everyMs === undefined ? now : (spokenAt.get(conversation) ?? -Infinity) + everyMs(target)
      const at = Math.max(now, own, nextOfAll)
      if (perSecond !== undefined) nextOfAll = at + 1000 / perSecond
      if (everyMs !== undefined) {
        spokenAt.delete(conversation)
        spokenAt.set(conversation, at)
        for (const [oldest] of spokenAt) {
          if (spokenAt.size <= REMEMBERED) break
          spokenAt.delete(oldest)
        }
      }
      return at - now
    },
  }
}
