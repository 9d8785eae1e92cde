import { expect, test } from 'vitest'
import { type Entry, fittingEntries } from './palette-fit.ts'

const entry = (label: string, detail: string): Entry => ({ id: label, label, detail, run: () => undefined })
const entries = [
  entry('The tour of the inbox', 'session, assistant'),
  entry('Inbox', 'page'),
  entry('Pause', 'this session'),
]
const found = (typed: string) => fittingEntries(entries, typed).map(({ label }) => label)

test('all words of what was typed must stand in an entry; a label that begins with them comes first', () => {
  expect(found('inb')).toEqual(['Inbox', 'The tour of the inbox'])
  expect(found('assistant tour')).toEqual(['The tour of the inbox'])
  expect(found('pause page')).toEqual([])
  expect(found('')).toHaveLength(3)
})
