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
    migrations: [{ version: 1, name: '0001_x.sql', sql: 'CREATE TABLE x ()' }],
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
