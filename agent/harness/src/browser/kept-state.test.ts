import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { seal, unseal } from './kept-state.ts'

const key = randomBytes(32)

test('what is sealed opens with its key and for its session, and for no other', () => {
  const sealed = seal(key, 'one', 'cookies')
  expect(Buffer.from(sealed, 'base64').includes('cookies')).toBe(false)
  expect(unseal(key, 'one', sealed)).toBe('cookies')
  expect(unseal(key, 'two', sealed)).toBeNull()
  expect(unseal(randomBytes(32), 'one', sealed)).toBeNull()
  expect(seal(key, 'one', 'cookies')).not.toBe(sealed)
})
