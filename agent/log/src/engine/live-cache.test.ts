import { expect, test } from 'vitest'
import { createLiveCache } from './live-cache.ts'
import type { StoredEvent } from '../store.ts'

const events = (from: number, to: number, chars = 10): StoredEvent[] =>
  Array.from({ length: to - from + 1 }, (_, at) => ({
    id: from + at,
    type: 'llm.thinking',
    json: 'x'.repeat(chars),
  }))
const ids = (page: StoredEvent[] | null) => page?.map(event => event.id) ?? null

test('readers at the same cursor share one page until the log grows', () => {
  const cache = createLiveCache()
  cache.open('s')
  cache.append('s', events(5, 8))
  const page = cache.read('s', 5, 10)
  expect(ids(page)).toEqual([6, 7, 8])
  expect(cache.read('s', 5, 10)).toBe(page)
  cache.append('s', events(9, 9))
  expect(ids(cache.read('s', 5, 10))).toEqual([6, 7, 8, 9])
})

test('a read before the cached range returns null, so the disk answers it', () => {
  const cache = createLiveCache()
  cache.open('s')
  expect(cache.read('s', 0, 10)).toBeNull()
  cache.append('s', events(5, 8))
  expect(cache.read('s', 3, 10)).toBeNull()
  expect(ids(cache.read('s', 4, 2))).toEqual([5, 6])
  expect(ids(cache.read('s', 8, 10))).toEqual([])
  expect(ids(cache.read('s', 99, 10))).toEqual([])
  expect(cache.read('other', 0, 10)).toBeNull()
})

test('the cache keeps the newest 512 events or one mebibyte of them, and always the last one', () => {
  const cache = createLiveCache()
  cache.open('s')
  cache.append('s', events(1, 1000))
  expect(cache.read('s', 487, 1)).toBeNull()
  expect(ids(cache.read('s', 488, 1))).toEqual([489])
  cache.append('s', events(1001, 1001, 2 * 1024 * 1024))
  expect(cache.read('s', 999, 1)).toBeNull()
  expect(ids(cache.read('s', 1000, 10))).toEqual([1001])
})

test('beyond the limit over all sessions, each session keeps only its newest commit', () => {
  const cache = createLiveCache(1000)
  for (const id of ['s', 't', 'u']) {
    cache.open(id)
    cache.append(id, events(1, 4, 100))
  }
  expect(ids(cache.read('s', 0, 10))).toEqual([1, 2, 3, 4])
  cache.append('u', events(5, 6, 100))
  expect(cache.read('u', 3, 10)).toBeNull()
  expect(ids(cache.read('u', 4, 10))).toEqual([5, 6])
  cache.drop('s')
  cache.append('u', events(7, 8, 100))
  expect(ids(cache.read('u', 4, 10))).toEqual([5, 6, 7, 8])
})

test('a session without a watcher is not cached', () => {
  const cache = createLiveCache()
  cache.append('s', events(1, 2))
  expect(cache.has('s')).toBe(false)
  cache.open('s')
  cache.append('s', events(3, 4))
  cache.drop('s')
  expect(cache.read('s', 3, 10)).toBeNull()
})
