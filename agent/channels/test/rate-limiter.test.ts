/** When a platform's rate limits allow the next call. */
import { expect, test } from 'vitest'
import { createRateLimiter } from '../src/rate-limiter.ts'

const group = { group: true }
const chat = { group: false }

test('a conversation has its own rate limit and does not delay others', () => {
  const limiter = createRateLimiter({ everyMs: target => (target['group'] === true ? 3_000 : 1_000) })
  expect([0, 0, 500].map(now => limiter.reserve('a', chat, now))).toEqual([0, 1_000, 1_500])
  expect([500, 500].map(now => limiter.reserve('b', group, now))).toEqual([0, 3_000])
  expect(limiter.reserve('a', chat, 9_000)).toBe(0)
})

test('all conversations share one rate limit', () => {
  const limiter = createRateLimiter({ perSecond: 4 })
  expect(['a', 'b', 'a', 'c'].map(key => limiter.reserve(key, chat, 100))).toEqual([0, 250, 500, 750])
  expect(limiter.reserve('d', chat, 5_000)).toBe(0)
})

test('with two limits the longer wait applies, and the call counts against both', () => {
  const limiter = createRateLimiter({ everyMs: () => 1_000, perSecond: 10 })
  expect(limiter.reserve('a', chat, 0)).toBe(0)
  expect(limiter.reserve('b', chat, 0)).toBe(100)
  expect(limiter.reserve('a', chat, 0)).toBe(1_000)
  expect(limiter.reserve('c', chat, 1_000)).toBe(100)
})

test('without limits no call waits', () => {
  const limiter = createRateLimiter({})
  expect([0, 0, 0].map(now => limiter.reserve('a', chat, now))).toEqual([0, 0, 0])
})
