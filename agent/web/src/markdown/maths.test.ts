import { expect, test } from 'vitest'
import { mayHoldMaths, withMaths } from './maths.ts'

test('recognizes formulas in the usual delimiters', () => {
  expect(withMaths('so \\(a^2\\) holds')).toBe('so $$a^2$$ holds')
  expect(withMaths('so $x_1 = 2$ holds')).toBe('so $$x_1 = 2$$ holds')
  expect(withMaths('\\[ \\int f \\]')).toContain('$$\n\\int f\n$$')
})

test('does not treat money, shell variables or code as formulas', () => {
  for (const text of [
    'from $5 to $10 a month',
    'US$5 and US$6',
    'echo $HOME and $PATH',
    '`$x^2$`',
    '```sh\necho $a_b $c_d\n```',
    'a \\$x^2$ b',
  ])
    expect(withMaths(text), text).toBe(text)
  expect(mayHoldMaths('nothing of the kind')).toBe(false)
  expect(mayHoldMaths('Budget: 500k tokens | $5 | 2h')).toBe(false)
  expect(mayHoldMaths('$5 and $x^2$')).toBe(true)
})
