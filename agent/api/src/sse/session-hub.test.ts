import type { StoredEvent } from '@cairn/log'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Sink } from './reader.ts'
import { createSessionHub } from './session-hub.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }

/** A connection that stores what it gets, and has room as the test sets it. */
function fakeConnection(): Sink & { ids: number[]; setRoom(has: boolean): void } {
  let hasRoom = true
  const connection = {
    ids: [] as number[],
    onRoom: () => {},
    write({ bytes, bodyStart, bodyEnd }: { bytes: Buffer; bodyStart: number; bodyEnd: number }) {
      // An empty chunk would end the body.
      expect(bodyEnd).toBeGreaterThan(bodyStart)
      for (const found of bytes.toString('utf8', bodyStart, bodyEnd).matchAll(/^id: (\d+)$/gm))
        connection.ids.push(Number(found[1]))
      return hasRoom
    },
    hasRoom: () => hasRoom,
    unsent: () => 0,
    destroy: () => {},
    setRoom(has: boolean) {
      hasRoom = has
      if (has) connection.onRoom()
    },
  }
  return connection
}

test('each reader gets every event after its cursor once, in any order of commits, joins and full sockets', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('commit' as const), count: fc.integer({ min: 1, max: 300 }) }),
    fc.record({
      do: fc.constant('join' as const),
      after: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 700 })),
    }),
    fc.record({ do: fc.constant('room' as const), reader: fc.nat(5), has: fc.boolean() }),
    fc.record({ do: fc.constant('leave' as const), reader: fc.nat(5) }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(step, { minLength: 2, maxLength: 14 }),
      async (scheduler, steps) => {
        const log: StoredEvent[] = []
        let notify: (() => void) | null = null
        const events = {
          // A read returns the events at its start; its arrival and that of a notification are scheduled
          // freely.
          read: (_id: string, after: number, limit: number) =>
            scheduler.schedule(Promise.resolve(log.filter(({ id }) => id > after).slice(0, limit)), 'read'),
          watch: (_id: string, given: (epoch: number | null) => void) => {
            notify = () => given(null)
            return () => {
              notify = null
            }
          },
        }
        const store = { events }
        const hub = createSessionHub('s', { store, log: quiet, onDelivered: () => {}, onEmpty: () => {} })
        const readers: {
          connection: ReturnType<typeof fakeConnection>
          after: number
          leave: () => void
          isGone: boolean
        }[] = []
        const perform = (given: (typeof steps)[number]): void => {
          if (given.do === 'commit') {
            for (let n = 0; n < given.count; n++)
              log.push({ id: log.length + 1, type: 'llm.delta', json: '{}' })
            void scheduler.schedule(Promise.resolve(), 'notify').then(() => notify?.())
          } else if (given.do === 'join') {
            const connection = fakeConnection()
            const reader = hub.join(connection, given.after)
            readers.push({ connection, after: given.after, leave: () => hub.leave(reader), isGone: false })
          } else {
            const reader = readers[given.reader]
            if (reader === undefined) return
            if (given.do === 'room') return reader.connection.setRoom(given.has)
            reader.isGone = true
            reader.leave()
          }
        }
        const { task } = scheduler.scheduleSequence(
          steps.map(given => ({ label: given.do, builder: async () => perform(given) })),
        )
        await scheduler.waitFor(task)
        for (const { connection, isGone } of readers) if (!isGone) connection.setRoom(true)
        await scheduler.waitIdle()
        for (const {
          connection: { ids },
          after,
          isGone,
        } of readers) {
          const owed = log.map(({ id }) => id).filter(id => id > after)
          expect(ids).toEqual(isGone ? owed.slice(0, ids.length) : owed)
        }
      },
    ),
    { numRuns: 1500, seed: 11 },
  )
})

test('a notification after the only live reader left reaches the reader that joins', async () => {
  const log: StoredEvent[] = []
  const reads: (() => void)[] = []
  let notify = (): void => {}
  const events = {
    read: (_id: string, after: number) => {
      const seen = log.filter(({ id }) => id > after)
      return new Promise<StoredEvent[]>(resolve => reads.push(() => resolve(seen)))
    },
    watch: (_id: string, given: (epoch: number | null) => void) => {
      notify = () => given(null)
      return () => {}
    },
  }
  const store = { events }
  const settle = () => new Promise<void>(resolve => setImmediate(resolve))
  const answerReads = async (): Promise<void> => {
    while (reads.length > 0) {
      reads.shift()?.()
      await settle()
    }
  }
  const hub = createSessionHub('s', { store, log: quiet, onDelivered: () => {}, onEmpty: () => {} })
  const first = hub.join(fakeConnection(), 0)
  await answerReads()
  const connection = fakeConnection()
  hub.join(connection, 0)
  hub.leave(first)
  log.push({ id: 1, type: 'llm.delta', json: '{}' })
  notify()
  await answerReads()
  expect(connection.ids).toEqual([1])
})
