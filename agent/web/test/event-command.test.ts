import { expect, test } from 'vitest'
import { commandOf } from '../src/events/event-commands.ts'

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
  expect(commandOf(key(name), 'grid')).toBe(command)
})

test('on a button or link, letter keys work, and keys that scroll or activate do not', () => {
  expect(['j', '/', 'g', 'f', '?', 'Escape'].map(name => commandOf(key(name), 'control'))).toEqual([
    'down',
    'search',
    'jump',
    'follow',
    'help',
    'close',
  ])
  expect(['ArrowDown', 'Enter', 'Home', 'PageDown'].map(name => commandOf(key(name), 'control'))).toEqual([
    null,
    null,
    null,
    null,
  ])
})

test('without a focused element, every key works as in the grid', () => {
  expect(['ArrowDown', 'Enter', 'Home', 'PageDown'].map(name => commandOf(key(name), 'page'))).toEqual([
    'down',
    'open',
    'first',
    'page-down',
  ])
})

test('keys with a modifier belong to the browser', () => {
  expect(commandOf(key('c', { ctrlKey: true }), 'grid')).toBe(null)
  expect(commandOf(key('f', { metaKey: true }), 'grid')).toBe(null)
})
