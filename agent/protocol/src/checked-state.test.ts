import { expect, test } from 'vitest'
import { checkedState } from './checked-state.ts'

const open = () => checkedState('switch', 'off', { off: ['on'], on: ['off', 'broken'], broken: [] })

test('a listed transition is made', () => {
  const state = open()
  state.to('on')
  expect(state.current()).toBe('on')
  expect(state.is('off', 'on')).toBe(true)
  expect(state.is('broken')).toBe(false)
})

test('an unlisted transition throws and leaves the state unchanged', () => {
  const state = open()
  expect(() => state.to('broken')).toThrow('[switch] cannot go from off to broken')
  expect(state.current()).toBe('off')
})
