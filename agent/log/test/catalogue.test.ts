/** Every key of a table that belongs to one organisation begins with it, on both stores. */
import { openPostgresStore } from '@cairn/log'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { RESOURCES } from '../src/resources/index.ts'
import { migrate, readMigrations } from '../src/sqlite/migrate.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import { readMigrations as readPostgresMigrations } from '../src/postgres/migrate.ts'
import { TABLES } from '../src/tables.ts'
import {
  POSTGRES_SCHEMA,
  problemsOf,
  readPostgresCatalogue,
  readSqliteCatalogue,
  type Table,
} from './catalogue.ts'
import { makePostgresPlace, type PostgresPlace, querySql, runSql } from './postgres-place.ts'

type Catalogue = { run(sql: string): Promise<void> | void; read(): Promise<Table[]> | Table[] }

const db = openDb(':memory:')
const sqlite: Catalogue = { run: sql => db.exec(sql), read: () => readSqliteCatalogue(db) }
let place: PostgresPlace
const postgres: Catalogue = {
  run: sql => runSql(place.place, sql),
  read: () => readPostgresCatalogue(sql => querySql(place.place, sql)),
}

beforeAll(async () => {
  migrate(db, readMigrations(), 0)
  place = await makePostgresPlace()
  await (await openPostgresStore({ url: place.place })).close()
})
afterAll(async () => {
  db.close()
  await place.remove()
})

describe.each([
  ['the embedded store', sqlite, 'INTEGER PRIMARY KEY AUTOINCREMENT'],
  ['the store on Postgres', postgres, 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY'],
])('%s', (_name, catalogue, counter) => {
  test('keys of organisations begin with the organisation, and no value comes from a counter', async () => {
    const tables = await catalogue.read()
    expect(problemsOf(tables, TABLES)).toEqual([])
    expect(tables.find(({ name }) => name === 'inbox_items')?.keys.length).toBeGreaterThan(4)
  })

  test('the migrations create every table of every resource', async () => {
    const names = (await catalogue.read()).map(({ name }) => name)
    const listed = Object.values(RESOURCES).flatMap(({ tables }) => Object.keys(tables))
    expect(listed.filter(name => !names.includes(name))).toEqual([])
  })

  test('a table that breaks the rule is found', async () => {
    await catalogue.run(`
      CREATE TABLE odd_one (seq ${counter}, org_key INTEGER NOT NULL, name TEXT NOT NULL UNIQUE,
        user_id TEXT NOT NULL REFERENCES users (id));
      CREATE INDEX odd_by_name ON odd_one (name, org_key);
      CREATE INDEX odd_by_org ON odd_one (org_key, name);`)
    const odd = (await catalogue.read()).filter(({ name }) => name === 'odd_one')
    expect(problemsOf(odd, TABLES)).toEqual(['table odd_one is not in tables.ts'])
    const problems = problemsOf(odd, { ...TABLES, odd_one: 'organisation' })
    expect(problems).toHaveLength(5)
    expect(problems).toEqual(
      expect.arrayContaining([
        'table odd_one of class organisation names users of class directory',
        'key odd_by_name of table odd_one begins with name',
        'column odd_one.seq is counted by the database',
      ]),
    )
  })
})

test('the migrations of Postgres result in the golden schema', async () => {
  const lines = await querySql(place.place, POSTGRES_SCHEMA)
  const schema = lines.map(row => `${String(row['line'])}\n`).filter(line => !line.includes('odd_'))
  await expect(schema.join('')).toMatchFileSnapshot('../src/postgres/migrations/schema.golden.sql')
})

test('a schema of the older numbering is rejected and left unchanged', async () => {
  const older = await makePostgresPlace()
  onTestFinished(older.remove)
  await runSql(
    older.place,
    `CREATE SCHEMA ${older.schema};
    CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL);
    INSERT INTO schema_migrations SELECT version, version || '_older.sql' FROM generate_series(1, 24) version;
    CREATE TABLE sessions (key BIGINT PRIMARY KEY)`,
  )
  for (const readOnly of [false, true])
    await expect(openPostgresStore({ url: older.place, readOnly })).rejects.toThrow(
      '[migrate] the store has version 24 of the older numbering of schemas, this program has version ' +
        `${readPostgresMigrations().length} of the present one and cannot read that store: start the program ` +
        'that wrote it, or use an empty data directory or schema',
    )
  const tables = await querySql(
    older.place,
    `SELECT tablename FROM pg_tables WHERE schemaname = '${older.schema}' ORDER BY tablename`,
  )
  expect(tables.map(({ tablename }) => tablename)).toEqual(['schema_migrations', 'sessions'])
})
