import { expect, test } from 'vitest'
import { noticesText } from './notices.ts'

const licensed = (name: string, license: string) => ({
  name,
  version: '1.0.0',
  license,
  text: `text of ${name}`,
})

test('lists each package once, with its licence and its text', () => {
  const text = noticesText([licensed('b', 'MIT'), licensed('a', '(GPL-3.0 OR ISC)'), licensed('b', 'MIT')])
  expect(text).toContain('a 1.0.0 ((GPL-3.0 OR ISC))\n-------\ntext of a')
  expect(text.split('b 1.0.0 (MIT)')).toHaveLength(2)
})

test('names a package whose licence is not allowed or not stated', () => {
  expect(() => noticesText([licensed('free', 'MIT'), licensed('strict', 'AGPL-3.0')])).toThrow(
    'strict (AGPL-3.0)',
  )
  expect(() => noticesText([licensed('silent', 'none stated')])).toThrow('silent (none stated)')
})
