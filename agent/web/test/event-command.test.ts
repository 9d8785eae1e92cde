import { expect, test } from 'vitest'
import { commandOf } from '../src/events/use-event-cursor.ts'

const key = (name: string, more = {}) => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
})

test.each([
  ['j', 'down'],
  ['ArrowDown', 'down'],
  ['k', 'up'],
  ['ArrowUp', 'up'],
  ['Enter', 'open'],
  ['Escape', 'close'],
  ['/', 'search'],
  ['g', 'jump'],
  ['f', 'follow'],
  ['c', 'copy'],
  ['?', 'help'],
  ['Home', 'first'],
  ['End', 'last'],
  ['x', null],
])('in the grid, %s means %s', (name, command) => {
  expect(commandOf(key(name), true)).toBe(command)
})

test('outside the grid the letters work and the keys that scroll or press things do not', () => {
  expect(['j', '/', 'g', 'f', '?', 'Escape'].map(name => commandOf(key(name), false))).toEqual([
    'down',
    'search',
    'jump',
    'follow',
    'help',
    'close',
  ])
  expect(['ArrowDown', 'Enter', 'Home', 'PageDown'].map(name => commandOf(key(name), false))).toEqual([
    null,
    null,
    null,
    null,
  ])
})

test('keys with a modifier belong to the browser', () => {
  expect(commandOf(key('c', { ctrlKey: true }), true)).toBe(null)
  expect(commandOf(key('f', { metaKey: true }), true)).toBe(null)
})
