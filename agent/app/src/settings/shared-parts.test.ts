import { expect, test } from 'vitest'
import { createSharedParts } from './shared-parts.ts'

function open() {
  const closed: string[] = []
  const parts = createSharedParts<string>(value => {
    closed.push(value)
    return Promise.resolve()
  })
  return { parts, closed }
}

test('a part is made once for its key, and closed after its last holder once it is outdated', () => {
  const { parts, closed } = open()
  const one = parts.hold('a', () => 'a1')
  const two = parts.hold('a', () => 'a2')
  expect(two.value).toBe('a1')
  one.release()
  one.release()
  parts.keepOnly(key => key === 'b')
  expect(closed).toEqual([])
  two.release()
  expect(closed).toEqual(['a1'])
  expect(parts.hold('a', () => 'a3').value).toBe('a3')
})

test('a current part stays without holders, and an outdated one without holders is closed at once', () => {
  const { parts, closed } = open()
  parts.hold('a', () => 'a').release()
  expect(closed).toEqual([])
  parts.keepOnly(() => false)
  expect(closed).toEqual(['a'])
})

test('closing closes held parts too', async () => {
  const { parts, closed } = open()
  parts.hold('a', () => 'a')
  await parts.close()
  expect(closed).toEqual(['a'])
})
