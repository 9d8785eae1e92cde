import { expect, test } from 'vitest'
import type { StoredEvent } from '../store.ts'
import { createLiveSessions } from './live-sessions.ts'

const event = (id: number): StoredEvent => ({ id, type: 'user.message', json: `{"id":${id}}` })

test('a reader gets an own commit that the cache has not read yet', async () => {
  const inDatabase = [event(1)]
  const held = Promise.withResolvers<void>()
  let isFilling = false
  const live = createLiveSessions(
    async (_id, after) => {
      // The first read fills the cache, and takes long.
      if (!isFilling) {
        isFilling = true
        await held.promise
      }
      return inDatabase.filter(({ id }) => id > after)
    },
    (level, message) => expect.unreachable(`${level}: ${message}`),
  )
  live.watch('s', () => undefined)
  live.committed('s', [event(1)], null)
  inDatabase.push(event(2))
  live.grew('s', 2, 2)
  inDatabase.push(event(3))
  live.committed('s', [event(3)], null)
  expect((await live.read('s', 0, 10)).map(({ id }) => id)).toEqual([1, 2, 3])
  held.resolve()
})
