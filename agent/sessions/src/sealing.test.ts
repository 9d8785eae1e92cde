import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSealing } from './sealing.ts'

function place(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-sealing-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return join(dir, 'secrets.key')
}

test('sealed text opens only with its key and its context', () => {
  const file = place()
  const one = createSealing({ file })
  const sealed = one.seal('one', 'cookies')
  expect(Buffer.from(sealed, 'base64').includes('cookies')).toBe(false)
  expect(one.open('one', sealed)).toBe('cookies')
  expect(createSealing({ file }).open('one', sealed)).toBe('cookies')
  expect(one.open('two', sealed)).toBeNull()
  expect(createSealing({ file: place() }).open('one', sealed)).toBeNull()
  expect(one.seal('one', 'cookies')).not.toBe(sealed)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a given key replaces the key file, and an invalid key is rejected', () => {
  const key = randomBytes(32).toString('base64')
  const sealed = createSealing({ file: place(), key }).seal('one', 'cookies')
  expect(createSealing({ file: place(), key }).open('one', sealed)).toBe('cookies')
  expect(() => createSealing({ file: place(), key: 'short' })).toThrow('32 bytes in base64')
})

test('truncated or changed text opens to null without an error', () => {
  const sealing = createSealing({ file: place() })
  const whole = Buffer.from(sealing.seal('one', 'x'), 'base64')
  for (let length = 0; length < whole.length; length += 1)
    expect(sealing.open('one', whole.subarray(0, length).toString('base64'))).toBeNull()
  for (let at = 0; at < whole.length; at += 1) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(sealing.open('one', changed.toString('base64'))).toBeNull()
  }
  expect(sealing.open('one', 'no base64!')).toBeNull()
})
