/** When a platform's limits let the next call out. */
import { expect, test } from 'vitest'
import { createRateLimiter } from '../src/rate-limiter.ts'

const group = { group: true }
const chat = { group: false }

test('a conversation speaks so often, and no other waits for it', () => {
  const limiter = createRateLimiter({ everyMs: target => (target['group'] === true ? 3_000 : 1_000) })
  expect([0, 0, 500].map(now => limiter.reserve('a', chat, now))).toEqual([0, 1_000, 1_500])
  expect([500, 500].map(now => limiter.reserve('b', group, now))).toEqual([0, 3_000])
  expect(limiter.reserve('a', chat, 9_000)).toBe(0)
})

test('all conversations together speak so often', () => {
  const limiter = createRateLimiter({ perSecond: 4 })
  expect(['a', 'b', 'a', 'c'].map(key => limiter.reserve(key, chat, 100))).toEqual([0, 250, 500, 750])
  expect(limiter.reserve('d', chat, 5_000)).toBe(0)
})

test('of two limits the longer wait counts, and both places are taken', () => {
  const limiter = createRateLimiter({ everyMs: () => 1_000, perSecond: 10 })
  expect(limiter.reserve('a', chat, 0)).toBe(0)
  expect(limiter.reserve('b', chat, 0)).toBe(100)
  expect(limiter.reserve('a', chat, 0)).toBe(1_000)
  expect(limiter.reserve('c', chat, 1_000)).toBe(100)
})

test('without limits nobody waits', () => {
  const limiter = createRateLimiter({})
  expect([0, 0, 0].map(now => limiter.reserve('a', chat, now))).toEqual([0, 0, 0])
})
