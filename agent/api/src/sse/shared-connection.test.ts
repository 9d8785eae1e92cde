import type { StoredEvent } from '@cairn/log'
import { expect, test } from 'vitest'
import type { Sink } from './reader.ts'
import { createSessionHub } from './session-hub.ts'
import { shareConnection } from './shared-connection.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const EVENTS = 600
const ROOM = 100_000

/** Promise 4.22: A long history on the shared stream delays no other session. */
test('histories on one connection take turns, arrive complete, and queue little beyond the room of the socket', async () => {
  const json = JSON.stringify({ text: 'x'.repeat(3000) })
  const events: StoredEvent[] = Array.from({ length: EVENTS }, (_, at) => ({
    id: at + 1,
    type: 'llm.delta',
    json,
  }))
  const store = {
    events: {
      read: async (_id: string, after: number, limit: number) => events.slice(after, after + limit),
      watch: () => () => {},
    },
  }
  let unsent = 0
  let unsentMax = 0
  const connection: Sink = {
    write({ bytes }) {
      unsent += bytes.length
      unsentMax = Math.max(unsentMax, unsent)
      return unsent < ROOM
    },
    hasRoom: () => unsent < ROOM,
    unsent: () => unsent,
    destroy: () => {},
    onRoom: () => {},
  }
  const addSink = shareConnection(connection)
  const order: string[] = []
  const received = new Map<string, number[]>()
  for (const id of ['a', 'b', 'c', 'd']) {
    const sink = addSink()
    received.set(id, [])
    const write: Sink['write'] = part => {
      order.push(id)
      for (const found of part.bytes.toString().matchAll(/^id: (\d+)$/gm))
        received.get(id)?.push(Number(found[1]))
      return connection.write(part)
    }
    createSessionHub(id, { store, log: quiet, onDelivered: () => {}, onEmpty: () => {} }).join(
      Object.assign(sink, { write }),
      0,
    )
  }
  const isWhole = () => [...received.values()].every(ids => ids.length === EVENTS)
  while (!isWhole()) {
    await new Promise(setImmediate)
    unsent = 0
    connection.onRoom()
  }
  for (const ids of received.values()) expect(ids).toEqual(events.map(({ id }) => id))
  expect(unsentMax).toBeLessThan(2 * ROOM)
  // Every session has been served twice before any of them is half done.
  const early = order.slice(0, order.length / 4)
  for (const id of received.keys()) expect(early.filter(name => name === id).length).toBeGreaterThan(1)
})
