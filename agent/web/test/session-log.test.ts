import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { NO_FILTER } from '../src/events/filter.ts'
import { type FollowLog, followSession } from '../src/session/followed-session.ts'
import { eventAt } from './sample-data.ts'

/** Frames that the test triggers, and a clock that advances a millisecond per read. */
function frames() {
  const waiting: (() => void)[] = []
  let now = 0
  return {
    request: (callback: () => void) => {
      waiting.push(callback)
    },
    now: () => now++,
    draw: () => waiting.splice(0).forEach(callback => callback()),
    get asked() {
      return waiting.length
    },
  }
}

const log = (count: number): SessionEvent[] =>
  Array.from({ length: count }, (_, i) => eventAt(i + 1, 'user.message', { content: `message ${i}` }))
const reading =
  (batches: SessionEvent[][], asked: number[] = []): FollowLog =>
  (_id, after, { onState, onItems }) => {
    asked.push(after)
    onState?.('live')
    for (const batch of batches) onItems(batch.filter(event => event.id > after))
    return () => undefined
  }

test('batches of one frame become one revision of rows and chat', () => {
  const clock = frames()
  const session = followSession('s', reading([log(3), log(5).slice(3)]), clock)
  let told = 0
  session.subscribe(() => {
    told += 1
  })
  session.follow()
  const before = told
  expect(clock.asked).toBe(1)
  clock.draw()
  expect(told).toBe(before + 1)
  expect(session.index.events).toHaveLength(5)
  expect(session.view.items).toHaveLength(5)
  expect(session.connection).toBe('live')
})

test('spreads a burst over frames without losing an event', () => {
  const clock = frames()
  const session = followSession('s', reading([log(40_000)]), clock)
  session.follow()
  let drawn = 0
  while (clock.asked > 0) {
    clock.draw()
    drawn += 1
  }
  expect(drawn).toBeGreaterThan(3)
  expect(session.index.matching).toBe(40_000)
  expect(session.view.last_id).toBe(40_000)
})

test('following again resumes at the last received event, drawn or not', () => {
  const clock = frames()
  const asked: number[] = []
  const session = followSession('s', reading([log(7)], asked), clock)
  session.follow()
  session.follow()
  clock.draw()
  expect(asked).toEqual([0, 7])
  expect(session.index.events.map(event => event.id)).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('applies a filter to a short log at once', () => {
  const clock = frames()
  const session = followSession('s', reading([log(20)]), clock)
  session.follow()
  clock.draw()
  session.setFilter({ ...NO_FILTER, text: 'message 7' })
  expect(session.index.matching).toBe(1)
})

test('a stream that ends permanently is a failure with its reason', () => {
  const refused = new Error('no such session')
  const session = followSession(
    's',
    (_id, _after, { onState, onFailed }) => {
      onState?.('connecting')
      onFailed(refused)
      return () => undefined
    },
    frames(),
  )
  session.follow()
  expect(session.connection).toBe('failed')
  expect(session.failure).toBe(refused)
})
