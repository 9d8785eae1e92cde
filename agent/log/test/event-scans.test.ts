/**
 * No prepared statement of the running service scans all events, which are most of a store. (The statements
 * of the damage check do, and run separately.)
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createBatchWriter } from '../src/sqlite/batch-writer.ts'
import { migrate, readMigrations } from '../src/sqlite/migrate.ts'
import { createReader } from '../src/sqlite/reader.ts'
import { createFinder } from '../src/sqlite/search/finder.ts'
import { createIndexWriter } from '../src/sqlite/search/index-writer.ts'
import { type Db, openDb } from '../src/sqlite/adapter.ts'
import { createResourceReaders } from '../src/sqlite/resource-stores.ts'

test('SQLite finds events by position in every statement of reading, writing and indexing', () => {
  const db = openDb(':memory:')
  migrate(db, readMigrations(), 0)
  // In the service the index is a separate file, to which the log is attached.
  db.exec(readFileSync(new URL('../src/sqlite/search/search.sql', import.meta.url), 'utf8'))
  const statements = new Set<string>()
  const recording = new Proxy(db, {
    get: (target, name) =>
      name === 'prepare'
        ? (sql: string) => {
            statements.add(sql)
            return target.prepare(sql)
          }
        : (Reflect.get(target, name, target) as unknown),
  }) as Db
  const createReaders = (recorded: Db) => createResourceReaders(recorded, Date.now)
  for (const prepare of [createReader, createReaders, createBatchWriter, createIndexWriter])
    prepare(recording)
  createFinder(recording)

  const reading = [...statements].filter(
    sql => /\bevents\b/.test(sql) && !/^\s*INSERT INTO events\b/.test(sql),
  )
  expect(reading.length, 'statements that read events').toBeGreaterThan(3)
  const scanning = reading.filter(sql =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .some(({ detail }) => /^SCAN (events|e)\b(?!.*USING)/.test(String(detail))),
  )
  expect(scanning).toEqual([])
  db.close()
})
