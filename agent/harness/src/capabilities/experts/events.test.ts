import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutTask } from './events.ts'

test('shows a task as its first 500 characters and cuts no emoji in half', () => {
  expect(cutTask('short')).toBe('short')
  expect(cutTask('x'.repeat(500))).toBe('x'.repeat(500))
  expect(cutTask(`${'x'.repeat(499)}😀`)).toBe('x'.repeat(499))
  expect(cutTask(`${'x'.repeat(498)}😀y`)).toBe(`${'x'.repeat(498)}😀`)
})

test('property: a cut task is a well-formed prefix of the task, with at most one character fewer than 500', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'é', '😀', '👩‍🌾'), { maxLength: 700 }).map(parts => parts.join('')),
      task => {
        const cut = cutTask(task)
        expect(task.startsWith(cut) && cut.isWellFormed()).toBe(true)
        expect(cut.length).toBeLessThanOrEqual(500)
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(task.length, 499))
      },
    ),
  )
})
