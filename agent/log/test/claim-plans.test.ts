/** A claim reads pending and running work, and never the table of sessions, on both stores. */
import { openPostgresStore } from '@cairn/log'
import { COUNT_DUE, prepareClaimSql } from '../src/sqlite/claim-sql.ts'
import { migrate, readMigrations } from '../src/sqlite/migrate.ts'
import { TAKE } from '../src/postgres/claim.ts'
import { CLAIM_QUERIES } from '../src/postgres/claim-queries.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { makePostgresPlace } from './postgres-place.ts'

const COLUMNS =
  'org_key, key, id, org_id, created_by, created_by_kind, agent, channel, status, config, created_at, updated_at'
/** Some hundred of 20,000 sessions are pending, and fifty are running. */
const VALUES =
  `1, n, 's' || n, 'org', 'user' || (n % 40), 'user', 'a', 'web', 'active', '{}', 0, 0, ` +
  'n % 90, n % 90 - 1 + (n % 91) / 90'

/** Promise 8.7: On Postgres a claim never scans the sessions table. */
test('Postgres plans no scan over the sessions for any statement of a claim', async () => {
  const { place, schema, remove } = await makePostgresPlace()
  const store = await openPostgresStore({ url: place })
  const client = new Client({ connectionString: place, options: `-c search_path=${schema}` })
  await client.connect()
  try {
    await client.query(
      `INSERT INTO sessions (${COLUMNS}, cursor, wake_id) SELECT ${VALUES} FROM generate_series(1, 20000) n`,
    )
    await client.query(`UPDATE sessions SET worker_id = 'w', lease_until = 1e15 WHERE key % 400 = 0`)
    const statements = { ...CLAIM_QUERIES, TAKE }
    const values: Record<keyof typeof statements, unknown[]> = {
      LOOK: [null, 50, 116],
      RUNNING: [null],
      COUNT_DUE: [null],
      LOOK_BY_PRINCIPAL: ['', 10, 256, [], 10, [], 0],
      TAKE: ['w', null, 1000, ['s1', 's2'], 1],
    }
    await client.query(
      `INSERT INTO directory (kind, id, org_key, key) SELECT 'session', id, org_key, key FROM sessions`,
    )
    await client.query('ANALYZE sessions, directory')
    for (const [name, { text }] of Object.entries(statements)) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN ${text}`,
        values[name as keyof typeof statements],
      )
      const plan = rows.map(row => row['QUERY PLAN']).join('\n')
      expect(plan, name).not.toMatch(/Seq Scan on (sessions|links)/)
    }
  } finally {
    await client.end()
    await store.close()
    await remove()
  }
})

test('SQLite reads everything that a claim needs from indexes, in their order', () => {
  const db = openDb(':memory:')
  migrate(db, readMigrations(), 0)
  const statements = { ...prepareClaimSql(db), countDue: db.prepare(COUNT_DUE) }
  for (const [name, statement] of Object.entries(statements)) {
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${statement.sourceSQL}`)
      .all()
      .map(row => String(row['detail']))
      .join('\n')
    expect(plan, name).toMatch(/USING (COVERING )?INDEX sessions_(queued|leased|to_roll_back)/)
    expect(plan, name).not.toContain('TEMP B-TREE')
  }
})
