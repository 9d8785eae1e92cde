import { expect, test } from 'vitest'
import { prepareCommitSql } from './commit-sql.ts'
import { migrate, readMigrations } from './migrate.ts'
import { MOVING, unpackSession } from './packed-session.ts'
import { createSessionCache, type WrittenSession } from './session-cache.ts'
import { openDb } from './adapter.ts'

function makeCache() {
  const db = openDb(':memory:')
  migrate(db, readMigrations(), 0)
  const sql = prepareCommitSql(db)
  sql.insertSession.run(
    1,
    7,
    'a',
    'org',
    'user',
    'user',
    'assistant',
    'web',
    'A title',
    null,
    null,
    '{}',
    4,
    5,
  )
  sql.enterSession.run('a', 1, 7)
  return { cache: createSessionCache(sql), sql }
}

/** Each number is different, and no text is empty. */
function withDistinctValues(row: WrittenSession): WrittenSession {
  const of = (name: string, value: unknown, at: number): unknown =>
    name === 'pos' ? value : typeof value === 'number' || name === 'saga' ? 100 + at : `${name} "${at}"`
  return Object.fromEntries(
    Object.entries(row).map(([name, value], at) => [name, of(name, value, at)]),
  ) as WrittenSession
}

test('an unpacked row equals the packed one, except for the positions that only the writer reads', () => {
  const { cache } = makeCache()
  const read = cache.load('a', 0)
  if (read === null) throw new Error('no session')
  const row = withDistinctValues(read)
  expect(new Set(Object.values(row)).size).toBe(Object.keys(row).length)
  const { pos: _, ...shown } = row
  expect(unpackSession(cache.pack(row))).toEqual({ ...shown, recent: '' })
})

test('the second of two commits contains the changes between them', () => {
  const { cache } = makeCache()
  const row = cache.load('a', 0)
  if (row === null) throw new Error('no session')
  expect(unpackSession(cache.pack(row)).title).toBe('A title')
  const later = { ...row, title: 'Another', last_id: 9, waiting: 2 }
  const { pos: _, ...shown } = later
  expect(unpackSession(cache.pack(later))).toEqual({ ...shown, recent: '' })
})

test('each changed column is written to its own column', () => {
  const { cache, sql } = makeCache()
  const read = cache.load('a', 0)
  if (read === null) throw new Error('no session')
  const distinct = withDistinctValues(read)
  const moved = Object.fromEntries([...MOVING, 'recent' as const].map(name => [name, distinct[name]]))
  cache.put({ ...read, ...moved })
  cache.flush()
  expect({ ...sql.session.get({ id: 'a', now: 0 }) }).toEqual({ ...read, ...moved })
})
