/** The rule of migrations: they only add, or state that older programs may no longer run. */
import { describe, expect, test } from 'vitest'
import { parseMigration } from '../src/engine/migrations.ts'
import { readMigrations as readPostgresMigrations } from '../src/postgres/migrate.ts'
import { readMigrations } from '../src/sqlite/migrate.ts'
import { problemsOf, removalsIn } from './expand-only.ts'
import { nextMigration } from './newer-schema.ts'

describe.each([
  ['the embedded store', readMigrations(), 'sqlite'],
  ['the store on Postgres', readPostgresMigrations(), 'postgres'],
] as const)('%s', (_name, migrations, store) => {
  test('migrations only add to the schema, or raise the oldest program that may run on it', () => {
    const { name, sql } = nextMigration(store, migrations, 1)
    expect(problemsOf([...migrations, parseMigration(name, sql)])).toEqual([])
  })
})

test.each([
  ['ALTER TABLE a DROP COLUMN x', false],
  ['ALTER TABLE a RENAME COLUMN x TO y', false],
  ['ALTER TABLE a ADD COLUMN x INTEGER NOT NULL', false],
  ['ALTER TABLE a ADD COLUMN x INTEGER NOT NULL DEFAULT 0', true],
  ['ALTER TABLE a ADD COLUMN x INTEGER; UPDATE a SET x = 1 WHERE y > 2', true],
  ['ALTER TABLE a ADD COLUMN x INTEGER; UPDATE a SET y = 1', false],
  ['DROP TABLE a', false],
  ['CREATE UNIQUE INDEX i ON a (x)', false],
  ['CREATE TABLE a (x INTEGER); CREATE UNIQUE INDEX i ON a (x); INSERT INTO a VALUES (1)', true],
  ['CREATE INDEX i ON a (x) -- DROP TABLE a', true],
  ['CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1; SELECT 2 $$', true],
  ['CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$', false],
])('%s: programs from before it may run: %s', (sql, may) => {
  expect(removalsIn({ sql }).length === 0).toBe(may)
})

test('reports a migration that removes and still allows older programs', () => {
  const first = parseMigration('0001_a.sql', '-- Oldest program: 1\nCREATE TABLE a (x INTEGER);')
  const removal = (oldest: number) =>
    parseMigration('0002_b.sql', `-- Oldest program: ${oldest}\nDROP TABLE a;`)
  expect(problemsOf([first, removal(2)])).toEqual([])
  expect(problemsOf([first, removal(1)])).toEqual([
    '0002_b.sql may break programs from before it and still allows them: DROP TABLE a',
  ])
  const again = parseMigration('0003_c.sql', '-- Oldest program: 1\nCREATE TABLE b (x INTEGER);')
  expect(problemsOf([first, removal(2), again])).toEqual([
    '0003_c.sql allows programs of schema version 1, 0002_b.sql does not',
  ])
})
