/** A token bucket per principal: holds at most a minute's worth and refills steadily. */
import { tooManyRequests } from '@cairn/protocol'

/** Beyond this many principals, full buckets are evicted; the others still limit a principal. */
const CAPACITY = 20_000

export type RateLimit = (who: string) => void

/** `monotonic`: with a wall clock that is set back, buckets would lose tokens. */
export function createRateLimit(perMinute: number, monotonic: () => number): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>()
  const perMs = perMinute / 60_000
  const refilled = (bucket: { tokens: number; at: number }, at: number): number =>
    Math.min(perMinute, bucket.tokens + (at - bucket.at) * perMs)
  return who => {
    const at = monotonic()
    let bucket = buckets.get(who)
    if (bucket === undefined) {
      if (buckets.size >= CAPACITY)
        for (const [key, entry] of buckets) if (refilled(entry, at) >= perMinute) buckets.delete(key)
      bucket = { tokens: perMinute, at }
      buckets.set(who, bucket)
    }
    bucket.tokens = refilled(bucket, at)
    bucket.at = at
    if (bucket.tokens < 1)
      throw tooManyRequests(
        `Rate limit exceeded: at most ${perMinute} requests per minute.`,
        (1 - bucket.tokens) / perMs / 1000,
      )
    bucket.tokens--
  }
}
