import { expect, test } from 'vitest'
import { createHashQueue, type Ticket } from './hash-queue.ts'

/** Tasks that a test ends by hand, and their start order. */
function setUp(limits = { atOnce: 1, perAddress: 3, inAll: 6 }) {
  const queue = createHashQueue(limits)
  const began: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  return {
    queue,
    began,
    refused,
    ask: (name: string, ticket: Ticket): void =>
      void queue
        .run(ticket, () => {
          began.push(name)
          return new Promise<void>(resolve => ends.push(resolve))
        })
        .catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'rate_limited' })
          refused.push(name)
        }),
    /** Ends running tasks until none is left. */
    async drain(): Promise<void> {
      for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
        end()
        await new Promise(resolve => setImmediate(resolve))
      }
    },
  }
}

test('addresses take turns, however many requests of one are queued', async () => {
  const { ask, began, drain, refused } = setUp()
  for (const n of [1, 2, 3, 4]) ask(`a${n}`, { address: 'a' })
  ask('b1', { address: 'b' })
  ask('b2', { address: 'b' })
  await drain()
  expect(began).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
  expect(refused).toEqual([])
})

test('an address has a maximum queue length, and requests beyond it are rejected at once', async () => {
  const { ask, began, drain, refused, queue } = setUp()
  for (let n = 0; n < 100; n++) ask(`a${n}`, { address: 'a' })
  await new Promise(resolve => setImmediate(resolve))
  expect([queue.waiting(), refused.length, began.length]).toEqual([3, 96, 1])
  await drain()
  expect([queue.waiting(), began.length]).toEqual([0, 4])
})

test('in a full queue a newcomer replaces a request of the address with the most', async () => {
  const { ask, began, drain, refused } = setUp()
  ask('running', { address: 'r' })
  for (const n of [1, 2, 3]) ask(`a${n}`, { address: 'a' })
  for (const n of [1, 2, 3]) ask(`b${n}`, { address: 'b' })
  ask('c1', { address: 'c' })
  ask('d1', { address: 'd' })
  ask('e1', { address: 'e' })
  ask('f1', { address: 'f' })
  ask('g1', { address: 'g' })
  await drain()
  expect(refused.toSorted()).toEqual(['a2', 'a3', 'b2', 'b3', 'g1'])
  expect(began).toEqual(['running', 'a1', 'b1', 'c1', 'd1', 'e1', 'f1'])
})

test('an address with an earlier login goes first, and is queued even if the queue is full', async () => {
  const { ask, began, drain, refused } = setUp()
  ask('running', { address: 'r' })
  for (const n of [1, 2, 3, 4, 5, 6]) ask(`s${n}`, { address: `s${n}` })
  ask('known', { address: 'k', isKnown: true })
  await drain()
  expect(began.slice(0, 3)).toEqual(['running', 'known', 's1'])
  expect(refused).toHaveLength(1)
})

test('a client that hung up costs no hash', async () => {
  const { ask, began, drain } = setUp()
  ask('a1', { address: 'a' })
  ask('a2', { address: 'a', isGone: () => true })
  ask('a3', { address: 'a' })
  await drain()
  expect(began).toEqual(['a1', 'a3'])
})

test('a failed hash releases its queue position', async () => {
  const queue = createHashQueue({ atOnce: 1, perAddress: 2, inAll: 2 })
  const failed = queue.run({ address: 'a' }, () => Promise.reject(new Error('no memory')))
  const next = queue.run({ address: 'a' }, async () => 'done')
  await expect(failed).rejects.toThrow('no memory')
  expect(await next).toBe('done')
})
