import { expect, test } from 'vitest'
import { prepareCommitSql } from './commit-sql.ts'
import { migrate, readMigrations } from './migrate.ts'
import { createSessionCache } from './session-cache.ts'
import { openDb } from './adapter.ts'

function makeCache(capacity: number) {
  const db = openDb(':memory:')
  migrate(db, readMigrations(), 0)
  const sql = prepareCommitSql(db)
  for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) {
    sql.insertSession.run(
      1,
      at + 1,
      id,
      'org',
      'user',
      'user',
      'assistant',
      'web',
      null,
      null,
      null,
      '{}',
      0,
      0,
    )
    sql.enterSession.run(id, 1, at + 1)
  }
  const cache = createSessionCache(sql, capacity)
  return {
    cache,
    db,
    row: (id: string) => ({ ...db.prepare('SELECT * FROM sessions WHERE id = ?').get(id), waiting: null }),
    lastId: (id: string) => db.prepare('SELECT last_id FROM sessions WHERE id = ?').get(id)?.['last_id'],
  }
}
const load = (cache: ReturnType<typeof createSessionCache>, id: string) => {
  const row = cache.load(id, 0)
  if (row === null) throw new Error(`no session ${id}`)
  return row
}

test('a changed session reads as changed before and after its flush, even in a full cache', () => {
  const { cache, lastId } = makeCache(2)
  cache.put({ ...load(cache, 'a'), last_id: 7 })
  for (const id of ['b', 'c', 'd']) load(cache, id)
  expect(load(cache, 'a').last_id).toBe(7)
  expect(lastId('a')).toBe(0)
  cache.flush()
  expect(lastId('a')).toBe(7)
  for (const id of ['b', 'c', 'd']) load(cache, id)
  expect(load(cache, 'a').last_id).toBe(7)
})

test('after a rollback the cache reads the table', () => {
  const { cache, lastId } = makeCache(10)
  cache.put({ ...load(cache, 'a'), last_id: 7 })
  cache.forget()
  expect(load(cache, 'a').last_id).toBe(0)
  cache.flush()
  expect(lastId('a')).toBe(0)
})

test('a flush writes all changes to the table, for log growth and for other columns', () => {
  const { cache, row } = makeCache(10)
  const steps = [
    { last_id: 1, updated_at: 10, recent: '11' },
    { last_id: 2, updated_at: 20, recent: '11,12' },
    { last_id: 3, updated_at: 30, recent: '11,12,13', title: 'A title', unpriced: 1 as const },
    { last_id: 4, updated_at: 40, recent: '11,12,13,14', title: null },
  ]
  for (const step of steps) {
    const changed = { ...load(cache, 'a'), ...step }
    cache.put(changed)
    cache.flush()
    expect(row('a')).toEqual(changed)
  }
})

test('a change that a rollback undid is written with the next change', () => {
  const { cache, db, row } = makeCache(10)
  const change = (values: object) => {
    const changed = { ...load(cache, 'a'), ...values }
    cache.put(changed)
    cache.flush()
    return changed
  }
  change({ last_id: 1 })
  db.exec('BEGIN')
  change({ last_id: 2, title: 'A title' })
  db.exec('ROLLBACK')
  cache.forget()
  const again = change({ last_id: 2, title: 'A title' })
  expect(row('a')).toEqual(again)
})
