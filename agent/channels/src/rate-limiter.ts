/** A rate limiter for calls. It keeps state, but takes the clock as an argument. */
import type { Limits } from './adapter.ts'

export type RateLimiter = {
  /** Reserves the next call of this conversation and the connection; returns the delay until then. */
  reserve(conversation: string, target: Record<string, unknown>, now: number): number
}

/** Maximum remembered conversations; the oldest are past their limits. */
const MAX_CONVERSATIONS = 10_000

export function createRateLimiter({
  everyMs,
  perSecond,
}: Pick<Limits, 'everyMs' | 'perSecond'>): RateLimiter {
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
          if (spokenAt.size <= MAX_CONVERSATIONS) break
          spokenAt.delete(oldest)
        }
      }
      return at - now
    },
  }
}
