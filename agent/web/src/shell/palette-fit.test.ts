import { expect, test } from 'vitest'
import { type Entry, fittingEntries, type Group } from './palette-fit.ts'

const entry = (group: Group, label: string, detail?: string): Entry => ({
  id: label,
  group,
  label,
  ...(detail !== undefined && { detail }),
  run: () => undefined,
})
const entries = [
  entry('sessions', 'The tour of the inbox', 'assistant'),
  entry('pages', 'Inbox'),
  entry('session', 'Pause'),
  entry('actions', 'Start mission'),
]
const found = (typed: string) => fittingEntries(entries, typed).map(({ label }) => label)

test('an entry must contain all typed words; the group with the best match comes first', () => {
  expect(found('inb')).toEqual(['Inbox', 'The tour of the inbox'])
  expect(found('assistant tour')).toEqual(['The tour of the inbox'])
  expect(found('pause page')).toEqual([])
  expect(found('this session')).toEqual(['Pause'])
})

test('without a text the groups stand in their order, and no group takes the place of another', () => {
  expect(found('')).toEqual(['Start mission', 'Pause', 'Inbox', 'The tour of the inbox'])
  const many = Array.from({ length: 30 }, (_, n) => entry('sessions', `Session ${n}`))
  const shown = fittingEntries([...many, ...entries], '').map(({ group }) => group)
  expect(new Set(shown)).toEqual(new Set(['actions', 'session', 'pages', 'sessions']))
  expect(shown.length).toBeLessThanOrEqual(14)
})
