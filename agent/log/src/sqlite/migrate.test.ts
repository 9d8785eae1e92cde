import { expect, test } from 'vitest'
import { migrate, readMigrations, refuseNewer, schemaVersion } from './migrate.ts'
import { openDb } from './adapter.ts'

const first = { version: 1, name: '0001_first.sql', sql: 'CREATE TABLE a (x INTEGER)' }
const second = {
  version: 2,
  name: '0002_second.sql',
  sql: 'ALTER TABLE a ADD COLUMN y INTEGER; CREATE TABLE b (x INTEGER)',
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
      .prepare('SELECT version, name, applied_at FROM schema_migrations')
      .all()
      .map(row => ({ ...row })),
  ).toEqual([
    { version: 1, name: first.name, applied_at: 5 },
    { version: 2, name: second.name, applied_at: 6 },
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
  expect(() => refuseNewer(db, [first])).toThrow('schema version 2, this program knows up to 1')
})

test('the upgrade removes secrets that an older release stored with an Idempotency-Key', () => {
  const db = openDb(':memory:')
  migrate(db, readMigrations().slice(0, 2), 0)
  const keep = db.prepare(`
    INSERT INTO idempotent_answers (principal_id, key, body_sha256, status, body, created_at)
    VALUES (?, ?, ?, ?, ?, ?)`)
  keep.run('p', 'account', 'h', 201, '{"id":"a","token":"cairn_sk_AbC"}', 1)
  keep.run('p', 'user', 'h', 201, '{"id":"u","login_token":"xyz"}', 1)
  keep.run('p', 'session', 'h', 201, '{"id":"s","title":"\\"token\\":\\"cairn_sk_"}', 1)
  migrate(db, readMigrations(), 2)
  const bodies = db.prepare('SELECT body FROM idempotent_answers ORDER BY key').all()
  expect(bodies.map(row => row['body'])).toEqual([
    '{}',
    '{"id":"s","title":"\\"token\\":\\"cairn_sk_"}',
    '{}',
  ])
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

test('the migration to the derived state finds what each session had asked for', () => {
  const migrations = readMigrations()
  const db = openDb(':memory:')
  migrate(
    db,
    migrations.filter(({ name }) => name < '0005'),
    0,
  )
  for (const id of ['asked', 'acted', 'proposed', 'quiet'])
    db.exec(`
      INSERT INTO sessions (id, org_id, created_by, created_by_kind, agent, channel, status, config,
        created_at, updated_at)
      VALUES ('${id}', 'o', 'u', 'user', 'a', 'web', 'active', '{}', 0, 0)`)
  const raise = (session: string, event: number, kind: string, payload = '{}'): void =>
    db.exec(`
      INSERT INTO inbox_items (id, session_key, session_id, org_id, created_by, source_event_id, kind,
        status, title, payload, private, tool_call_id, created_at)
      VALUES ('${session}-${event}', 1, '${session}', 'o', 'u', ${event}, '${kind}', 'pending', 't',
        '${payload}', '{}', 'call', 0)`)
  raise('asked', 6, 'input_required')
  raise('asked', 9, 'governance_gate')
  raise('acted', 7, 'action_required', '{"title":"the \\"proposal\\":"}')
  raise('proposed', 8, 'action_required', '{"title":"x","proposal":{"name":"sow"}}')
  migrate(db, migrations, 1)
  expect(
    db
      .prepare('SELECT id, asked_id FROM sessions ORDER BY key')
      .all()
      .map(row => [row['id'], row['asked_id']]),
  ).toEqual([
    ['asked', 6],
    ['acted', 7],
    ['proposed', 0],
    ['quiet', 0],
  ])
})

test('the upgrade finds provisional titles and sessions with unpriced calls in the logs', () => {
  const db = openDb(':memory:')
  const migrations = readMigrations()
  migrate(
    db,
    migrations.filter(({ name }) => name < '0013'),
    0,
  )
  const event = db.prepare('INSERT INTO events (session_key, id, at, type, json) VALUES (?, ?, 0, ?, ?)')
  const logs: Record<string, [string, object][]> = {
    provisional: [['session.title_updated', { title: 'a', provisional: true }]],
    named: [
      ['session.title_updated', { title: 'a', provisional: true }],
      ['session.title_updated', { title: '"provisional":true' }],
    ],
    unpriced: [
      ['llm.response', { cost_unpriced_model: 'm' }],
      ['llm.response', { cost_usd: 1 }],
    ],
    // A model may call a tool with arguments of any name.
    priced: [
      ['tool.call', { arguments: { cost_unpriced_model: 'm' } }],
      ['llm.response', { message: { content: '"cost_unpriced_model":"m"' } }],
    ],
  }
  for (const [key, [id, log]] of Object.entries(logs).entries()) {
    db.prepare(
      `
      INSERT INTO sessions (key, id, org_id, created_by, created_by_kind, agent, channel, status, config,
        created_at, updated_at)
      VALUES (?, ?, 'o', 'u', 'user', 'a', 'web', 'active', '{}', 0, 0)`,
    ).run(key + 1, id)
    for (const [at, [type, data]] of log.entries())
      event.run(key + 1, at + 1, type, JSON.stringify({ id: at + 1, type, data }))
  }
  migrate(db, migrations, 1)
  expect(
    db
      .prepare('SELECT id, provisional, unpriced FROM sessions ORDER BY key')
      .all()
      .map(row => [row['id'], row['provisional'], row['unpriced']]),
  ).toEqual([
    ['provisional', 1, 0],
    ['named', 0, 0],
    ['unpriced', 0, 1],
    ['priced', 0, 0],
  ])
})
