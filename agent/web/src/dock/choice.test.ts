import { expect, test } from 'vitest'
import { choiceOf } from './choice.ts'

const ask = (...labels: string[]) => ({ prompt: 'Which?', choices: labels.map(label => ({ label })) })

test('a number alone selects that choice; any other text is a free answer', () => {
  expect(choiceOf([ask('red', 'blue')], '2')).toBe('blue')
  expect(choiceOf([ask('red', 'blue')], ' 1 ')).toBe('red')
  for (const text of ['3', '0', '12', '2 apples', '', 'blue'])
    expect(choiceOf([ask('red', 'blue')], text), text).toBeNull()
})

test('a number selects nothing if there are several questions or no choices', () => {
  expect(choiceOf([ask('red'), ask('big')], '1')).toBeNull()
  expect(choiceOf([{ prompt: 'What?' }], '1')).toBeNull()
})
