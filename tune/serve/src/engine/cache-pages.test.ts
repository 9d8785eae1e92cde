import { createEngine, type DeviceBuffer } from '@cairn-tune/native'
import { afterAll, expect, test } from 'vitest'
import { createCachePages } from './cache-pages.ts'

const engine = await createEngine({ threads: 1 })
afterAll(() => engine.close())

/** Four caches of 100 blocks, 32 to a huge page, and how many of their blocks were touched. */
function setUp() {
  const blockBytes = 2 ** 21 / 32
  const caches = Array.from({ length: 4 }, () => engine.allocate(100 * blockBytes))
  const touched = caches.map(() => 0)
  const waiting: (() => void)[] = []
  const touch = (cache: DeviceBuffer, from: number, to: number) =>
    new Promise<void>(resolve => {
      const layer = caches.indexOf(cache)
      expect(from).toBe((touched[layer] ?? 0) * blockBytes)
      touched[layer] = to / blockBytes
      waiting.push(resolve)
    })
  const pages = createCachePages({ touch }, caches, 100)
  /** Runs the touching until no pages are requested. */
  const settle = async () => {
    for (let resolve = waiting.shift(); resolve; resolve = waiting.shift()) {
      resolve()
      await Promise.resolve()
      await Promise.resolve()
    }
  }
  return { pages, touched, settle }
}

test('touches two pages of every layer before anything runs and two more when one runs out', async () => {
  const { pages, touched, settle } = setUp()
  await settle()
  expect(touched).toEqual([64, 64, 64, 64])
  pages.reach(32)
  await settle()
  expect(touched).toEqual([64, 64, 64, 64])
  pages.reach(33)
  await settle()
  expect(touched).toEqual([100, 100, 100, 100])
})

test('queues pages requested while others are touched, and touches nothing beyond the cache', async () => {
  const { pages, touched, settle } = setUp()
  pages.reach(20)
  pages.reach(50)
  const settled = pages.settled()
  await settle()
  await settled
  expect(touched).toEqual([100, 100, 100, 100])
  pages.reach(100)
  await settle()
  expect(touched).toEqual([100, 100, 100, 100])
})
