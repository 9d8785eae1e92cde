import { expect, test } from 'vitest'
import { parseMigration, refuseNewer, UnsupportedSchema } from './migrations.ts'

test.each([
  'CREATE TABLE a (x INTEGER)',
  '-- Oldest program: 3\nCREATE TABLE a (x INTEGER)',
  '-- Oldest program: 0\nCREATE TABLE a (x INTEGER)',
  'CREATE TABLE a (x INTEGER);\n-- Oldest program: 1',
])('rejects a migration that does not state a possible oldest program first: %j', sql => {
  expect(() => parseMigration('0002_a.sql', sql)).toThrow(
    '0002_a.sql does not state which programs may run on its schema: its first line must be ' +
      '"-- Oldest program: N", where N is a schema version from 1 to 2',
  )
})

const row = (version: number, oldest_program: number | null) => ({ version, oldest_program })

test.each([
  ['of the same version', [row(1, null), row(2, null)], null],
  ['of an older version', [row(1, null)], null],
  ['of a newer version that allows it', [row(2, 1), row(3, 2), row(4, 1)], null],
  [
    'of a newer version that needs a newer program',
    [row(2, 1), row(3, 3), row(4, 1)],
    '[migrate] the store has schema version 4 and needs a program that knows version 3 or newer. This program ' +
      'knows up to 2: start such a program, or restore a backup from before the upgrade',
  ],
  [
    'of a newer version that does not state it',
    [row(2, 1), row(3, 2), row(4, null)],
    '[migrate] the store has schema version 4 and does not state which older programs may run on it. This ' +
      'program knows up to 2: start the newer program, or restore a backup from before the upgrade',
  ],
])('a program of schema version 2 on a store %s', (_name, applied, message) => {
  const attempt = () => refuseNewer(applied, 2, 'backup')
  if (message === null) return expect(attempt).not.toThrow()
  expect(attempt).toThrow(new UnsupportedSchema(message))
})
