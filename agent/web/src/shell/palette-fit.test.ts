import { expect, test } from 'vitest'
import { type Entry, fittingEntries } from './palette-fit.ts'

const entry = (label: string, detail: string): Entry => ({ id: label, label, detail, run: () => undefined })
const entries = [
  entry('The tour of the inbox', 'session, assistant'),
  entry('Inbox', 'page'),
  entry('Pause', 'this session'),
]
const found = (typed: string) => fittingEntries(entries, typed).map(({ label }) => label)

test('an entry must contain all typed words; labels that start with them come first', () => {
  expect(found('inb')).toEqual(['Inbox', 'The tour of the inbox'])
  expect(found('assistant tour')).toEqual(['The tour of the inbox'])
  expect(found('pause page')).toEqual([])
  expect(found('')).toHaveLength(3)
})
