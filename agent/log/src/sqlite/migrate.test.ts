import { expect, test } from 'vitest'
import { migrate, readMigrations, refuseOther, schemaVersion } from './migrate.ts'
import { openDb } from './adapter.ts'

const first = { version: 1, name: '0001_first.sql', sql: 'CREATE TABLE a (x INTEGER)', oldestProgram: 1 }
const second = {
  version: 2,
  name: '0002_second.sql',
  sql: 'ALTER TABLE a ADD COLUMN y INTEGER; CREATE TABLE b (x INTEGER)',
  oldestProgram: 2,
}
const tables = (db: ReturnType<typeof openDb>) =>
  db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
    .all()
    .map(row => row['name'])

test('each migration is applied once, in order, and recorded', () => {
  const db = openDb(':memory:')
  expect(schemaVersion(db)).toBe(0)
  migrate(db, [first], 5)
  migrate(db, [first, second], 6)
  migrate(db, [first, second], 7)
  expect(
    db
      .prepare('SELECT * FROM schema_migrations')
      .all()
      .map(row => ({ ...row })),
  ).toEqual([
    { version: 1, name: first.name, applied_at: 5, oldest_program: 1 },
    { version: 2, name: second.name, applied_at: 6, oldest_program: 2 },
  ])
  expect(schemaVersion(db)).toBe(2)
})

test('a failed migration is rolled back, and earlier ones are kept', () => {
  const db = openDb(':memory:')
  expect(() => migrate(db, [first, { ...second, sql: 'CREATE TABLE b (x INTEGER); nonsense' }], 0)).toThrow(
    '0002_second.sql failed',
  )
  expect(tables(db)).toEqual(['a', 'schema_migrations'])
  expect(schemaVersion(db)).toBe(1)
})

test('a newer database is rejected and left unchanged', () => {
  const db = openDb(':memory:')
  migrate(db, [first, second], 0)
  expect(() => refuseOther(db, [first])).toThrow('schema version 2 and needs a program that knows version 2')
})

test('the migrations are numbered from 1 without a gap, and result in the golden schema', async () => {
  const migrations = readMigrations()
  expect(migrations.map(each => each.version)).toEqual(migrations.map((_, at) => at + 1))
  const db = openDb(':memory:')
  migrate(db, migrations, 0)
  const schema = db
    .prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name')
    .all()
    .map(row => `${String(row['sql'])};\n`)
  await expect(schema.join('\n')).toMatchFileSnapshot('./migrations/schema.golden.sql')
})

test('a store of the older numbering is rejected and left unchanged', () => {
  const db = openDb(':memory:')
  const older = Array.from({ length: 24 }, (_, at) => ({
    version: at + 1,
    name: `${String(at + 1).padStart(4, '0')}_older.sql`,
    sql: at === 0 ? 'CREATE TABLE sessions (key INTEGER PRIMARY KEY)' : 'SELECT 1',
    oldestProgram: 1,
  }))
  migrate(db, older, 0)
  expect(() => migrate(db, readMigrations(), 1)).toThrow(
    '[migrate] the store has version 24 of the older numbering of schemas, this program has version ' +
      `${readMigrations().length} of the present one and cannot read that store: start the program that ` +
      'wrote it, or use an empty data directory or schema',
  )
  expect(schemaVersion(db)).toBe(24)
})
