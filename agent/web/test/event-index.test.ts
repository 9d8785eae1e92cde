import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import {
  EVENT,
  GAP,
  TURN,
  createEventIndex,
  foldedBefore,
  gapBefore,
  indexOfId,
  indexOfKey,
  keyOf,
  kindOfKey,
  positionOf,
} from '../src/events/event-index.ts'
import { type EventFilter, isFiltering, NO_FILTER } from '../src/events/filter.ts'
import { eventAt } from './sample-data.ts'

const never = () => false
const at = (id: number, type: Parameters<typeof eventAt>[1], data = {}) => eventAt(id, type, data)

function indexOf(events: readonly SessionEvent[], filter: Partial<EventFilter> = {}) {
  const index = createEventIndex()
  index.setFilter({ ...NO_FILTER, ...filter })
  index.append(events)
  index.scan(never)
  return index
}
const ids = (index: ReturnType<typeof createEventIndex>) =>
  index.rows.filter(key => kindOfKey(key) === EVENT).map(key => index.events[indexOfKey(key)]?.id)

const turn = (first: number) => [
  at(first, 'user.message', { content: 'Hello' }),
  at(first + 1, 'harness.wake'),
  at(first + 2, 'tool.call', { name: 'search' }),
  at(first + 3, 'tool.result', { name: 'search', content: 'Nothing', elapsed_ms: 3 }),
  at(first + 4, 'llm.response'),
  at(first + 5, 'session.complete'),
]

test('without a filter every event is a row, and a turn has a header before its first message', () => {
  const index = indexOf([...turn(1), ...turn(7)])
  expect(index.rows.map(key => [indexOfKey(key), kindOfKey(key)])).toEqual([
    [0, TURN],
    [0, EVENT],
    [1, EVENT],
    [2, EVENT],
    [3, EVENT],
    [4, EVENT],
    [5, EVENT],
    [6, TURN],
    [6, EVENT],
    [7, EVENT],
    [8, EVENT],
    [9, EVENT],
    [10, EVENT],
    [11, EVENT],
  ])
  expect(index.matching).toBe(12)
})

test('missing ids are a gap row before the next event', () => {
  const index = indexOf([at(3, 'llm.thinking'), at(4, 'llm.request'), at(58, 'llm.response')])
  expect(index.rows).toEqual([
    keyOf(0, GAP),
    keyOf(0, EVENT),
    keyOf(1, EVENT),
    keyOf(2, GAP),
    keyOf(2, EVENT),
  ])
  expect([0, 1, 2].map(i => gapBefore(index.events, i))).toEqual([
    { from: 1, through: 2 },
    null,
    { from: 5, through: 57 },
  ])
})

test('a filtered list shows no gaps, and a turn header only if it shows an event of the turn', () => {
  const index = indexOf([...turn(1), ...turn(20)], { families: new Set(['tools']) })
  expect(index.rows.map(kindOfKey)).toEqual([TURN, EVENT, EVENT, TURN, EVENT, EVENT])
  expect(ids(index)).toEqual([3, 4, 22, 23])
})

test('families and types add events, the text narrows them', () => {
  const events = turn(1)
  expect(ids(indexOf(events, { families: new Set(['tools']), types: new Set(['llm.response']) }))).toEqual([
    3, 4, 5,
  ])
  expect(
    ids(indexOf(events, { families: new Set(['tools']), types: new Set(['llm.response']), text: 'nothing' })),
  ).toEqual([4])
  expect(ids(indexOf(events, { text: 'search' }))).toEqual([3, 4])
  expect(ids(indexOf(events, { text: 'no such thing' }))).toEqual([])
})

test('folds deltas into the next response until they are requested, and does not count them', () => {
  const events = [at(1, 'llm.request'), at(2, 'llm.delta'), at(3, 'llm.delta'), at(4, 'llm.response')]
  const index = indexOf(events)
  expect(ids(index)).toEqual([1, 4])
  expect([index.matching, index.deltas, isFiltering(index.filter)]).toEqual([2, 2, false])
  expect(foldedBefore(index, 3)).toEqual({ count: 2, before: events[0] })
  expect(ids(indexOf(events, { showsDeltas: true }))).toEqual([1, 2, 3, 4])
  expect(foldedBefore(indexOf(events, { showsDeltas: true }), 3).count).toBe(0)
  // A filter by the type's name includes it.
  expect(ids(indexOf(events, { types: new Set(['llm.delta']) }))).toEqual([2, 3])
})

test('events that arrive one by one, in slices, yield the same rows as all at once', () => {
  const events = Array.from({ length: 300 }, (_, i) => turn(1 + i * 8)).flat()
  for (const filter of [
    NO_FILTER,
    { ...NO_FILTER, text: 'search' },
    { ...NO_FILTER, families: new Set(['lifecycle'] as const) },
  ]) {
    const slow = createEventIndex()
    slow.setFilter(filter)
    for (const event of events) {
      slow.append([event])
      slow.scan(() => true)
    }
    const fast = indexOf(events, filter)
    expect(slow.rows).toEqual(fast.rows)
    expect(slow.turns).toEqual(fast.turns)
  }
})

test('a new filter is applied in slices and reports the remaining work', () => {
  const index = indexOf(
    Array.from({ length: 1000 }, (_, i) => at(i + 1, i % 2 ? 'llm.request' : 'llm.delta')),
  )
  index.setFilter({ ...NO_FILTER, types: new Set(['llm.request']) })
  expect(index.rows).toEqual([])
  expect(index.scan(() => true)).toBe(false)
  expect(index.unscanned).toBe(1000 - 256)
  expect(index.scan(never)).toBe(true)
  expect(index.matching).toBe(500)
})

test('ignores an event that the stream repeats', () => {
  const index = indexOf(turn(1))
  index.append(turn(1))
  index.scan(never)
  expect(index.events).toHaveLength(6)
})

test('finds an id or a row by binary search, or else the next one', () => {
  const index = indexOf([at(1, 'llm.request'), at(5, 'llm.response'), at(9, 'turn.summary')])
  expect([1, 2, 5, 9, 10].map(id => indexOfId(index.events, id))).toEqual([0, 1, 1, 2, 3])
  expect(positionOf(index.rows, keyOf(1, EVENT))).toBe(2)
  expect(positionOf(index.rows, keyOf(9, EVENT))).toBe(index.rows.length)
})

test('records crashes, recoveries and failures as alarms, and counts families', () => {
  const index = indexOf([
    at(1, 'user.message'),
    at(2, 'harness.crash'),
    at(3, 'harness.recovered'),
    at(4, 'session.fail'),
  ])
  expect(index.alarms).toEqual([1, 2, 3])
  expect(Object.fromEntries(index.countByFamily)).toEqual({ conversation: 1, lifecycle: 3 })
  expect(index.countByType.get('harness.crash')).toBe(1)
})
