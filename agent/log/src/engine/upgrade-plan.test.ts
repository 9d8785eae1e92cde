import { expect, test } from 'vitest'
import { parseMigration } from './migrations.ts'
import { planUpgrade, scansOf } from './upgrade-plan.ts'

const first = parseMigration('0001_a.sql', '-- Oldest program: 1\nCREATE TABLE a (x INTEGER);')
const adds = parseMigration(
  '0002_b.sql',
  `-- Oldest program: 1
  ALTER TABLE a ADD COLUMN y INTEGER;
  CREATE TABLE b (x INTEGER); -- CREATE INDEX none ON c (x)
  CREATE INDEX a_by_y ON a (y);
  CREATE INDEX b_by_x ON b (x);
  UPDATE a SET y = 1;`,
)
const removes = parseMigration('0003_c.sql', '-- Oldest program: 3\nALTER TABLE a DROP COLUMN x;')
const store = { recordsOldest: true, sizeBytes: 5, sessions: 2, events: 9 }
const at = (version: number) => [{ version, oldest_program: 1 }]

test('the time grows with the rows of tables that the migrations scan, not of those that they create', () => {
  expect(scansOf([adds])).toEqual([
    { table: 'a', kind: 'index' },
    { table: 'a', kind: 'rewrite' },
  ])
  const seconds = (rows: number) =>
    planUpgrade({ ...store, applied: at(1) }, [first, adds], { a: rows }).estimated_s
  expect(seconds(0)).toBe(0.05)
  expect(seconds(2_000_000) - seconds(1_000_000)).toBeCloseTo(30)
})

test.each([
  ['the migrations allow the present program', [first, adds], true, true],
  ['a migration does not allow it', [first, adds, removes], true, false],
  ['the present program refuses any newer schema', [first, adds], false, false],
  ['there is nothing to migrate', [first], false, true],
] as const)('a rollback without a restore, if %s: %s', (_name, migrations, recordsOldest, possible) => {
  const plan = planUpgrade({ ...store, recordsOldest, applied: at(1) }, migrations, {})
  expect(plan).toMatchObject({
    schema_now: 1,
    schema_wanted: migrations.length,
    migrations: migrations.slice(1).map(({ name }) => name),
    rollback_without_restore: possible,
  })
})
