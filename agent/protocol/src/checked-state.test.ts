import { expect, test } from 'vitest'
import { checkedState } from './checked-state.ts'

const open = () => checkedState('switch', 'off', { off: ['on'], on: ['off', 'broken'], broken: [] })

test('a move that the table lists is made', () => {
  const state = open()
  state.to('on')
  expect(state.current()).toBe('on')
  expect(state.is('off', 'on')).toBe(true)
  expect(state.is('broken')).toBe(false)
})

test('a move that the table does not list is thrown, and the state stays', () => {
  const state = open()
  expect(() => state.to('broken')).toThrow('[switch] cannot go from off to broken')
  expect(state.current()).toBe('off')
})
