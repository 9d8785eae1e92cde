import { expect, test } from 'vitest'
import { listOf, settingsText, valueAt, withValue } from './setting-values.ts'
import { modeOf, TOOL_GROUPS, withMode } from './tool-modes.ts'

test('a value is set by its path, and clearing it removes the maps that are empty then', () => {
  const settings = withValue({ system: 'x' }, 'workers.budget.max_minutes', 5)
  expect(settings).toEqual({ system: 'x', workers: { budget: { max_minutes: 5 } } })
  expect(valueAt(settings, 'workers.budget.max_minutes')).toBe(5)
  expect(withValue(settings, 'workers.budget.max_minutes', undefined)).toEqual({ system: 'x' })
  expect(Object.keys(withValue({ a: 1, b: 2 }, 'a', 3))).toEqual(['a', 'b'])
})

test('settings are compared by lines: a long text line by line, a list entry by entry', () => {
  expect(
    settingsText({ model: 'a/b', system: 'One.\nTwo.', tools: ['x', 'y'], workers: { enabled: false } }),
  ).toBe('model: a/b\nsystem: |\n  One.\n  Two.\ntools:\n  - x\n  - y\nworkers:\n  enabled: false')
  expect(settingsText(null)).toBe('')
})

test('a list is read from lines without blanks', () => {
  expect(listOf(' a \n\n b')).toEqual(['a', 'b'])
  expect(listOf(' \n')).toBeUndefined()
})

test('a group of tools is always, ask or off, by the lists of the policy', () => {
  expect(modeOf({}, TOOL_GROUPS.run)).toBe('always')
  const asking = withMode({}, TOOL_GROUPS.run, 'ask')
  expect(asking).toEqual({ governance: { require_approval: ['terminal'] } })
  const off = withMode(asking ?? {}, TOOL_GROUPS.run, 'off')
  expect(off).toEqual({ governance: { denied_tools: ['terminal'] } })
  expect(modeOf(off ?? {}, TOOL_GROUPS.run)).toBe('off')
  expect(withMode(off ?? {}, TOOL_GROUPS.run, 'always')).toEqual({})
})

test('a tool that a list leaves out is off, and turning it on adds it to that list', () => {
  const settings = { tools: ['read_file'] }
  expect(modeOf(settings, TOOL_GROUPS.read)).toBeNull()
  expect(withMode(settings, TOOL_GROUPS.run, 'ask')).toEqual({
    tools: ['read_file', 'terminal'],
    governance: { require_approval: ['terminal'] },
  })
})

test('a pattern that covers more tools is not changed by one group', () => {
  expect(withMode({ governance: { denied_tools: ['*'] } }, TOOL_GROUPS.run, 'always')).toBeNull()
})
