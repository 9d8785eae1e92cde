import { chmodSync, mkdirSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError } from '../config/config-error.ts'
import { makePrivateDataDir } from './private-data-dir.ts'

const modeOf = (path: string): number => statSync(path).mode & 0o777

test('makes a data directory that others can read private, with its files', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-private-'))
  const elsewhere = join(mkdtempSync(join(tmpdir(), 'cairn-elsewhere-')), 'file')
  writeFileSync(elsewhere, '', { mode: 0o644 })
  chmodSync(dir, 0o755)
  writeFileSync(join(dir, 'search.db'), '')
  chmodSync(join(dir, 'search.db'), 0o644)
  symlinkSync(elsewhere, join(dir, 'link'))
  mkdirSync(join(dir, 'folder'), { mode: 0o755 })
  makePrivateDataDir(dir)
  expect([modeOf(dir), modeOf(join(dir, 'search.db'))]).toEqual([0o700, 0o600])
  expect(modeOf(elsewhere), 'what a link leads to is not ours').toBe(0o644)
  makePrivateDataDir(join(dir, 'new/deep'))
  expect(modeOf(join(dir, 'new/deep'))).toBe(0o700)
})

test.each([
  [
    'belongs to another user',
    () => {
      throw new Error('EPERM: operation not permitted')
    },
  ],
  ['is on a file system without modes', () => undefined],
])('rejects a data directory that %s in one sentence that names the fix', (_, chmod) => {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-private-'))
  chmodSync(dir, 0o755)
  expect(() => makePrivateDataDir(dir, chmod)).toThrow(ConfigError)
  expect(() => makePrivateDataDir(dir, chmod)).toThrow(/\(mode 0755\).*chmod 700 .*CAIRN_DATA/)
  chmodSync(dir, 0o700)
  makePrivateDataDir(dir, chmod)
})
