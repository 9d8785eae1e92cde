import { expect, test } from 'vitest'
import { migrate } from './migrate.ts'

test('a migration that loses its connection reports that cause, and not the failed rollback', async () => {
  const asked: string[] = []
  let isLost = false
  const query = (sql: string): Promise<{ rows: Record<string, unknown>[] }> => {
    asked.push(sql)
    if (isLost)
      return Promise.reject(new Error('Client has encountered a connection error and is not queryable'))
    if (sql === 'CREATE TABLE x ()') {
      isLost = true
      return Promise.reject(new Error('Connection terminated unexpectedly'))
    }
    return Promise.resolve({ rows: [{ there: true, migrated: false, version: 0 }] })
  }
  const failure = await migrate({ query }, 's', {
    migrations: [{ version: 1, name: '0001_x.sql', sql: 'CREATE TABLE x ()', oldestProgram: 1 }],
  }).catch((error: unknown) => error)
  expect(failure).toMatchObject({
    message: '[migrate] 0001_x.sql failed; nothing of it was kept',
    cause: { message: 'Connection terminated unexpectedly' },
  })
  expect(failure).toMatchObject({
    cause: {
      errors: [
        { message: 'Connection terminated unexpectedly' },
        { message: 'Client has encountered a connection error and is not queryable' },
      ],
    },
  })
  expect(asked).toContain('ROLLBACK')
})

test.each([
  [2, 'is tried again after a lock that it did not get, and applied once'],
  [1000, 'that never gets its locks fails with the reason'],
])('a migration that is blocked %i times %s', async (blocked, _what) => {
  const asked: string[] = []
  const waits: number[] = []
  const query = (sql: string): Promise<{ rows: Record<string, unknown>[] }> => {
    asked.push(sql)
    if (sql === 'CREATE TABLE x ()' && waits.length < blocked)
      return Promise.reject(Object.assign(new Error('canceling statement'), { code: '55P03' }))
    return Promise.resolve({ rows: [{ there: true, migrated: false, version: 0 }] })
  }
  const result = await migrate({ query }, 's', {
    migrations: [{ version: 1, name: '0001_x.sql', sql: 'CREATE TABLE x ()', oldestProgram: 1 }],
    wait: ms => Promise.resolve(waits.push(ms)),
  }).then(
    () => 'applied',
    (error: unknown) => (error as Error).message,
  )
  expect(asked.filter(sql => sql === 'BEGIN')).toHaveLength(waits.length + 1)
  expect(asked.filter(sql => sql === 'ROLLBACK')).toHaveLength(blocked > 2 ? waits.length + 1 : blocked)
  expect(asked).toContain('SET LOCAL lock_timeout = 300')
  expect(result).toBe(
    blocked === 2
      ? 'applied'
      : '[migrate] 0001_x.sql failed; nothing of it was kept, because other sessions, such as pg_dump, hold ' +
          'locks on its tables',
  )
})
