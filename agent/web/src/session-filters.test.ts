import { expect, test } from 'vitest'
import { countFilters, queryOf, readFilters } from './session-filters.ts'

test('ignores URL parameters that are not filters and invalid filter values', () => {
  expect(
    readFilters({ q: ' ', state: 'busy', cost: '-1', age: '2d', sort: 'created', archived: 'no', id: 7 }),
  ).toEqual({})
  const filters = {
    q: 'red barn',
    state: 'failed',
    agent: 'clerk',
    cost: 0.5,
    age: '7d',
    sort: 'cost',
    archived: true,
  }
  expect(readFilters({ ...filters, id: 7 })).toEqual(filters)
  expect(countFilters(readFilters({ ...filters, id: 7 }))).toBe(4)
})

test('the same filters yield the same query for an hour', () => {
  const now = Date.UTC(2026, 10, 23, 10, 59)
  expect(queryOf({ age: '1d' }, now)).toEqual({
    status: 'active,paused,completed,failed',
    since: '2026-11-22T10:00:00.000Z',
  })
  expect(queryOf({ archived: true, state: 'done', cost: 2 }, now)).toEqual({
    status: 'archived',
    state: 'done',
    min_cost_usd: '2',
  })
})
