import { expect, test } from 'vitest'
import { isBlank } from './blank.ts'

test.each([
  '',
  ' ',
  '\n \n',
  '\u00a0',
  '\u200b\u200d\ufeff',
  '\u3000',
  '\u00ad\u2060',
  '\u3164',
  '\u2800',
  '\0',
])('%j is blank', text => expect(isBlank(text)).toBe(true))

test.each(['.', '0', '\u200bx', '❤️', '👩‍👩‍👧', '\u202eabc', 'ـ', '—'])('%j is not blank', text =>
  expect(isBlank(text)).toBe(false),
)
