import { expect, test } from 'vitest'
import { takeToken, takeTokenFromAddress } from '../src/login/link-token.ts'

function visit(path: string) {
  const url = new URL(path, 'http://127.0.0.1:8787')
  const replaced: string[] = []
  takeTokenFromAddress(
    url as unknown as Location,
    {
      state: null,
      replaceState: (_state: unknown, _title: string, to: string) => {
        replaced.push(to)
      },
    } as unknown as History,
  )
  return replaced
}

test('removes the token of a login link from the URL at once, and returns it once', () => {
  expect(visit('/login?next=/inbox#token=abc-_123')).toEqual(['/login?next=/inbox'])
  expect(takeToken()).toBe('abc-_123')
  expect(takeToken()).toBe(null)
})

test('leaves other URLs unchanged', () => {
  expect(visit('/sessions#token=abc')).toEqual([])
  expect(visit('/login#section')).toEqual([])
  expect(takeToken()).toBe(null)
})
