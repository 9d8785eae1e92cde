import { expect, test } from 'vitest'
import { hideValues } from './sensitive-fields.ts'

test.each([
  ['as it is', 'the password is hunter2!x', 'the password is [hidden]'],
  ['in an address', 'GET /in?pw=a%26b%20c', 'GET /in?pw=[hidden]', 'a&b c'],
  ['in a form', 'pw=a%26b+c&x=1', 'pw=[hidden]&x=1', 'a&b c'],
  ['in JSON', '{"pw":"a\\"b c"}', '{"pw":"[hidden]"}', 'a"b c'],
  ['more than once', 'hunter2!x hunter2!x', '[hidden] [hidden]'],
])('hides a value %s', (_how, text, hidden, value = 'hunter2!x') => {
  expect(hideValues(text, [value])).toBe(hidden)
})

test('hides a short value in the line of its field and keeps it in the words around it', () => {
  const text = '- textbox "Pin" [ref=e5]: 12\n- paragraph: 12 items of 120'
  expect(hideValues(text, ['12'])).toBe('- textbox "Pin" [ref=e5]: [hidden]\n- paragraph: 12 items of 120')
})

test('hides a value completely when another value is a prefix of it', () => {
  expect(hideValues('secret-long', ['secret', 'secret-long'])).toBe('[hidden]')
})
