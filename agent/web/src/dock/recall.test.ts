import { expect, test } from 'vitest'
import { recall } from './recall.ts'

test('up recalls earlier messages, and down returns to the draft', () => {
  const said = ['one', 'two']
  const first = recall(said, { at: 0, draft: 'half' }, 1)
  expect(first).toEqual({ text: 'two', next: { at: 1, draft: 'half' } })
  const second = recall(said, first!.next, 1)
  expect(second?.text).toBe('one')
  expect(recall(said, second!.next, 1)).toBeNull()
  expect(recall(said, second!.next, -1)?.text).toBe('two')
  expect(recall(said, first!.next, -1)?.text).toBe('half')
  expect(recall(said, { at: 0, draft: 'half' }, -1)).toBeNull()
  expect(recall([], { at: 0, draft: '' }, 1)).toBeNull()
})
