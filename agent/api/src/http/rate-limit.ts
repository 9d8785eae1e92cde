/** A bucket of tokens a principal: a minute's worth at most, refilled steadily. */
import { tooManyRequests } from '@cairn/protocol'

/**
 * Beyond so many principals the full buckets are forgotten; a bucket that is not full is somebody's limit.
 */
const CAPACITY = 20_000

export type RateLimit = (who: string) => void

/** `monotonic`: a clock that is set back would otherwise take away what it never gave. */
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
      throw tooManyRequests(`More than ${perMinute} requests a minute.`, (1 - bucket.tokens) / perMs / 1000)
    bucket.tokens--
  }
}
