/** Programs of different versions on one store: which may run, and what the check of an upgrade reports. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, NoStore, openPostgresStore, UnsupportedSchema } from '@cairn/log'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Migration, parseMigration } from '../src/engine/migrations.ts'
import type { UpgradePlan } from '../src/engine/upgrade-plan.ts'
import { readMigrations as readPostgresMigrations } from '../src/postgres/migrate.ts'
import { checkPostgresUpgrade } from '../src/postgres/upgrade-check.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import { migrate, readMigrations } from '../src/sqlite/migrate.ts'
import { checkSqliteUpgrade } from '../src/sqlite/upgrade-check.ts'
import { ids, newSession, readAll, say, upTo } from './conformance/fixture.ts'
import { nextMigration } from './newer-schema.ts'
import { makePostgresPlace, migratePlace, runSql } from './postgres-place.ts'
import { openStoreInProcess } from './store-in-process.ts'

type Store = {
  kind: 'sqlite' | 'postgres'
  own: readonly Migration[]
  open(options?: { readOnly?: boolean }): Promise<LogStore>
  check(migrations?: Migration[]): Promise<UpgradePlan>
  /** Migrates as a program with these migrations does. */
  migrate(migrations: readonly Migration[]): Promise<void>
  sql(text: string): Promise<void>
}

async function embedded(): Promise<Store> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-newer-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const use = (act: (db: ReturnType<typeof openDb>) => void): Promise<void> => {
    const db = openDb(join(dir, 'cairn.db'))
    act(db)
    db.close()
    return Promise.resolve()
  }
  return {
    kind: 'sqlite',
    own: readMigrations(),
    open: options => openStoreInProcess({ dir, ...options }),
    check: async migrations => checkSqliteUpgrade(dir, migrations),
    migrate: migrations => use(db => migrate(db, migrations, 0)),
    sql: text => use(db => db.exec(text)),
  }
}

async function onPostgres(): Promise<Store> {
  const place = await makePostgresPlace()
  onTestFinished(place.remove)
  return {
    kind: 'postgres',
    own: readPostgresMigrations(),
    open: options => openPostgresStore({ url: place.place, ...options }),
    check: migrations => checkPostgresUpgrade({ url: place.place }, migrations),
    migrate: migrations => migratePlace(place, migrations),
    sql: text => runSql(place.place, text),
  }
}

/** This code's migrations and the next one. */
function newerThan({ kind, own }: Store, oldestProgram?: number): Migration[] {
  const { name, sql } = nextMigration(kind, own, oldestProgram)
  return [...own, parseMigration(name, sql)]
}

async function write(store: LogStore): Promise<void> {
  if ((await store.sessions.get('s')) === null) await store.sessions.create(newSession('s'))
  await store.commit({ session_id: 's', events: [say('a')] })
}

const FORGET = 'ALTER TABLE schema_migrations DROP COLUMN oldest_program'

describe.each([
  ['embedded', embedded],
  ['on Postgres', onPostgres],
])('the store %s', (_name, makeStore) => {
  /** Promise 9.4: An older program runs on a newer schema that allows it, and refuses any other. */
  test('runs a program on a newer schema that allows it, and refuses one that does not', async () => {
    const place = await makeStore()
    const known = place.own.length
    const before = await place.open()
    await write(before)
    await before.close()
    await place.migrate(newerThan(place))
    const after = await place.open()
    await write(after)
    expect(await after.check()).toEqual([])
    const beside = await place.open({ readOnly: true })
    expect(ids(await readAll(beside, 's'))).toEqual(upTo(2))
    await beside.close()
    await after.close()

    await place.sql(`UPDATE schema_migrations SET oldest_program = ${known + 1} WHERE version = ${known + 1}`)
    for (const readOnly of [false, true]) {
      const refused = await place.open({ readOnly }).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(UnsupportedSchema)
      expect((refused as Error).message).toContain(
        `the store has schema version ${known + 1} and needs a program that knows version ${known + 1} or ` +
          `newer. This program knows up to ${known}: start such a program, or restore a`,
      )
    }
    await place.sql(FORGET)
    await expect(place.open()).rejects.toThrow('does not state which older programs may run on it')
    await expect(place.check()).rejects.toThrow(UnsupportedSchema)
  })

  /** Promise 9.4: A program continues while a newer one migrates the store beneath it. */
  test('continues on open connections while a newer program adds columns to its tables', async () => {
    const place = await makeStore()
    const store = await place.open()
    onTestFinished(() => store.close())
    const admin = await store.accounts.ensureFirstAdmin(
      { id: 'org_1', name: 'Org' },
      { id: 'user_1', email: 'a@example.com', name: 'A' },
    )
    const use = async (): Promise<void> => {
      await write(store)
      expect(await store.accounts.getUser('user_1')).toEqual(admin)
      expect((await store.sessions.list({ org_id: 'org_1', limit: 5 })).sessions).toHaveLength(1)
      expect(await store.leases.claim('runner', 1, 1000)).toHaveLength(0)
    }
    await write(store)
    await store.leases.claim('runner', 1, 600_000)
    // Each connection of the pool prepares the statements.
    for (let round = 0; round < 10; round += 1) await use()
    await place.migrate(newerThan(place))
    for (let round = 0; round < 10; round += 1) await use()
  })

  test('continues a store of a program that did not record the oldest program', async () => {
    const place = await makeStore()
    const first = await place.open()
    await write(first)
    await first.close()
    await place.sql(FORGET)
    // Its program refuses every newer schema.
    expect(await place.check(newerThan(place))).toMatchObject({ rollback_without_restore: false })
    const reader = await place.open({ readOnly: true })
    expect(ids(await readAll(reader, 's'))).toEqual([1])
    await reader.close()
    const second = await place.open()
    await write(second)
    await second.close()
    expect(await place.check(newerThan(place))).toMatchObject({ rollback_without_restore: true })
  })

  /** Promise 9.4: `cairn upgrade --check` reports what an upgrade does, also while a server runs. */
  test('reports what the next start does while the store is in use, and changes nothing', async () => {
    const place = await makeStore()
    await expect(place.check()).rejects.toThrow(NoStore)
    const store = await place.open()
    await write(store)
    await write(store)
    const known = place.own.length
    const now = { schema_now: known, sessions: 1, events: 2, rollback_without_restore: true }
    expect(await place.check()).toMatchObject({
      ...now,
      schema_wanted: known,
      migrations: [],
      estimated_s: 0,
    })
    const newer = newerThan(place)
    newer.push(
      parseMigration(
        `${String(known + 2).padStart(4, '0')}_index.sql`,
        `-- Oldest program: ${known}\nCREATE INDEX sessions_by_next ON sessions (org_key, next_${known + 1});`,
      ),
    )
    const plan = await place.check(newer)
    expect(plan).toMatchObject({
      ...now,
      schema_wanted: known + 2,
      migrations: newer.slice(known).map(({ name }) => name),
      scanned_rows: { sessions: 1 },
    })
    expect(plan.size_bytes).toBeGreaterThan(10_000)
    expect(await place.check(newerThan(place, known + 1))).toMatchObject({ rollback_without_restore: false })
    await write(store)
    await store.close()
    await place.migrate(newer)
    expect(await place.check()).toMatchObject({ schema_now: known + 2, schema_wanted: known, migrations: [] })
  })
})
