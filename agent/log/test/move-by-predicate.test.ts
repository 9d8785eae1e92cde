/**
 * An organisation is copied by `org_key = …` for each of its tables, with its rows of the directory, into an
 * empty store, and works there: its logs are sound, its data is found, and a message wakes its session.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, NOTIFICATIONS, openPostgresStore, openSqliteStore, withRows } from '@cairn/log'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDb } from '../src/sqlite/adapter.ts'
import { TABLES } from '../src/tables.ts'
import { called, delta, newSession, readAll, response, say, thought } from './conformance/fixture.ts'
import { makePostgresPlace, querySql } from './postgres-place.ts'

const ORGS = ['org_1', 'org_2', 'org_3']
/** The directory's rows of the organisation with the key `$1`. */
const DIRECTORY: Record<string, string> = {
  organisations: 'org_key = $1',
  directory: 'org_key = $1',
  share_links: 'org_key = $1',
  users: 'org_id = (SELECT id FROM organisations WHERE org_key = $1)',
  service_accounts: 'org_id = (SELECT id FROM organisations WHERE org_key = $1)',
  logins:
    'user_id IN (SELECT u.id FROM users u JOIN organisations o ON o.id = u.org_id WHERE o.org_key = $1)',
  login_links:
    'user_id IN (SELECT u.id FROM users u JOIN organisations o ON o.id = u.org_id WHERE o.org_key = $1)',
}
/** In an order that satisfies the foreign keys. */
const MOVED: [table: string, where: string][] = [
  ...Object.entries(DIRECTORY),
  ...Object.entries(TABLES).flatMap(([name, own]): [string, string][] =>
    own === 'organisation' ? [[name, 'org_key = $1']] : [],
  ),
]
/** Rows that no test can write at will: records that were lost. */
const MAY_BE_EMPTY = ['lost_ids']

type Place = {
  open(): Promise<LogStore>
  query(sql: string): Promise<Record<string, unknown>[]>
  /** Copies rows into another, closed place. */
  /** Returns the tables that it copied: those of the other store are not here. */
  copyTo(target: Place, rows: [table: string, where: string][]): Promise<string[]>
  schema: string
}

async function makeSqlite(): Promise<Place & { path: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-move-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const path = join(dir, 'cairn.db')
  const place = {
    path,
    schema: 'main',
    open: () => openSqliteStore({ dir }),
    async query(sql: string) {
      const db = openDb(path)
      try {
        return db.prepare(sql).all()
      } finally {
        db.close()
      }
    },
    async copyTo(target: Place, rows: [table: string, where: string][]) {
      const db = openDb((target as typeof place).path)
      db.prepare('ATTACH ? AS source').run(path)
      db.exec('BEGIN')
      const copied: string[] = []
      for (const [table, where] of rows) {
        const there = db.prepare(`SELECT 1 FROM source.sqlite_schema WHERE name = ?`).get(table)
        if (there === undefined) continue
        const from = where
          .replaceAll('FROM users', 'FROM source.users')
          .replaceAll('FROM organ', 'FROM source.organ')
        db.exec(`INSERT INTO main.${table} SELECT * FROM source.${table} WHERE ${from}`)
        copied.push(table)
      }
      db.exec('COMMIT')
      db.close()
      return copied
    },
  }
  return place
}

async function makePostgres(): Promise<Place> {
  const { place, schema, remove } = await makePostgresPlace()
  onTestFinished(remove)
  const query = (sql: string) => querySql(place, sql)
  return {
    schema,
    query,
    open: () => openPostgresStore({ url: place }),
    async copyTo(target, rows) {
      const tables = (await query(`SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`)).map(
        row => row['tablename'],
      )
      const own = rows.filter(([table]) => tables.includes(table))
      for (const [table, where] of own)
        await query(`INSERT INTO ${target.schema}.${table} SELECT * FROM ${table} WHERE ${where}`)
      return own.map(([table]) => table)
    },
  }
}

/** Uses every capability of the store once, for one organisation. */
async function fill(store: LogStore, org_id: string): Promise<void> {
  const { accounts, channels, notifications, browsers } = store
  const of = (name: string): string => `${org_id}-${name}`
  const [root, child, user, account, hook] = ['root', 'child', 'user', 'account', 'hook'].map(of) as [
    string,
    string,
    string,
    string,
    string,
  ]
  const session = { org_id, created_by: user }
  await store.sessions.create(newSession(root, session))
  await accounts.createUser({
    id: user,
    org_id,
    email: `${user}@x.org`,
    name: user,
    admin: false,
    password_hash: null,
  })
  await accounts.createServiceAccount({
    id: account,
    org_id,
    name: account,
    scope: 'org',
    token_sha256: of('token'),
    token_prefix: 'x',
    created_by: user,
    expires_at: null,
  })
  await accounts.createLogin({
    id: of('login'),
    user_id: user,
    refresh_sha256: of('refresh'),
    expires_at: 9e15,
  })
  await accounts.addLoginLink(of('link'), user, 9e15)
  await accounts.addShare({
    id: of('share'),
    token_sha256: of('share'),
    session_id: root,
    created_by: user,
    expires_at: 9e15,
  })
  await accounts.beginIdempotent({ org_id, principal_id: user, key: 'k' }, 'body')

  const { id: _id, ...made } = newSession(child, { ...session, parent_id: root })
  const item = {
    id: of('item'),
    kind: 'governance_gate',
    title: 'May it?',
    body: null,
    payload: {},
    expires_at: null,
    tool_call_id: 'call',
  } as const
  await store.commit({
    session_id: root,
    events: [
      say(`hello from ${org_id}`),
      delta('par'),
      called('call'),
      response('done', { cost: 0.5 }),
      withRows(thought('asks'), { do: 'inbox.open', item }),
    ],
    rows: [
      {
        do: 'link.open',
        link: {
          child_id: child,
          parent_id: root,
          root_id: root,
          depth: 1,
          kind: 'run',
          tool_call_id: null,
          task_id: null,
          attempt: null,
        },
        max_open: 8,
        max_total: 8,
      },
      {
        do: 'task.add',
        task: {
          task_id: of('task'),
          owner_id: root,
          root_id: root,
          goal: 'g',
          plan: {},
          after: [],
          max_attempts: 1,
          status: 'todo',
          attempt_count: 0,
          state: {},
        },
      },
      { do: 'timer.set', id: of('timer'), kind: 'deadline', session_id: root, after_ms: 0, data: {} },
      {
        do: 'board.add',
        root_id: root,
        last_seq: 0,
        writer_id: root,
        notes: [{ type: 'FACT', content: 'so', ref: null, ttl_ms: null }],
        supersede: [],
        renew: [],
      },
      {
        do: 'mission.add',
        mission: {
          mission_id: of('mission'),
          session_id: root,
          org_id,
          created_by: user,
          created_by_kind: 'user',
          kind: 'research',
          definition: { description: 'd', rubric: 'r', max_iterations: 2 },
        },
      },
      { do: 'branch.add', branch: { run_id: of('mission'), key: '1', worker_id: child, question: 'why' } },
      {
        do: 'source.add',
        source: {
          run_id: of('mission'),
          number: 1,
          worker_id: child,
          fetch_call_id: 'f',
          branch_key: '1',
          url: 'https://x.org',
          title: 't',
          quote: 'q',
          claim: 'c',
          fetched_at: '2026-01-01T00:00:00.000Z',
        },
      },
      {
        do: 'schedule.add',
        schedule: {
          id: of('schedule'),
          session_id: root,
          org_id,
          created_by: user,
          spec: {},
          state: {},
          due_at: 5,
        },
        most_of_session: 5,
        most_of_owner: 5,
      },
      {
        do: 'run.put',
        run: {
          schedule_id: of('schedule'),
          slot_at: 9e12,
          last_slot_at: 9e12,
          status: 'queued',
          reason: null,
          collapsed: 0,
          manual: false,
          run_session_id: null,
        },
      },
      { do: 'code.begin', run: { run_id: of('code'), session_id: root, source_event_id: 1, agent: 'a' } },
      { do: 'browser.open', browser_id: of('browser'), worker_id: 'w', alive_ms: 1000 },
      {
        do: 'grant.add',
        id: of('grant'),
        tool: 't',
        arguments_hash: 'h',
        granted_by: { kind: 'user', id: user },
        expires_at: 9e15,
      },
      {
        do: 'artifact.add',
        artifact: { artifact_id: 'a', name: 'chart', kind: 'chart', version: 1, size: 3 } as never,
        spec: { title: 'chart' } as never,
      },
    ],
    also: [{ session_id: child, create: made, events: [say('begin')] }],
    cursor: 'self',
  })
  // Enough to move the positions of its first events into their own table.
  await store.commit({ session_id: root, events: Array.from({ length: 200 }, (_, at) => thought(`${at}`)) })
  await store.snapshots.save(root, { version: 'v', last_id: 3, body: '{"n":3}' })
  await browsers.keepState(root, 'sealed', 9e12)

  await channels.putConnection({
    id: hook,
    org_id,
    name: 'hook',
    platform: 'webhook',
    service_account_id: account,
  })
  const seq = (await channels.receive({
    connection_id: hook,
    event_key: 'e',
    conversation_key: 'c',
    sender: 's',
    body: '{}',
  }))!
  await channels.seeSender(hook, 's', 'Sue')
  await channels.putIdentity({
    id: of('identity'),
    org_id,
    platform: 'webhook',
    workspace: '',
    platform_user_id: 's',
    user_id: user,
  })
  await channels.putPairing({ code_sha256: of('code'), org_id, user_id: user, ttl_ms: 9e12 })
  const conversation = { session_id: root, connection_id: hook, key: 'c', generation: 0, opened_by: seq }
  await channels.openConversation({ ...conversation, target: '{}', language: null })
  const epoch = (await channels.acquire(hook, 'deliver', 'me', 60_000))!
  await channels.beginDelivery(
    { session_id: root, event_id: 4, part: 0, key: 'k' },
    { connection_id: hook, epoch },
  )
  await channels.putPrompt({
    id: of('prompt'),
    session_id: root,
    kind: 'gate',
    about: item.id,
    choices: '[]',
    event_id: 5,
    part: 0,
    item_id: item.id,
    shown_hash: null,
  })
  await channels.putVisitor({
    token_sha256: of('visitor'),
    connection_id: hook,
    subject: null,
    name: null,
    expires_at: 9e15,
  })
  await notifications.putChoice({
    user_id: user,
    org_id,
    scope: 'own',
    kinds: '["governance_gate"]',
    after_ms: 0,
  })
  await notifications.plan({
    id: of('notification'),
    user_id: user,
    way: 'webhook',
    about: item.id,
    next_at: 0,
  })
  const owner = { org_id, user_id: user }
  await store.marks.put(owner, { kind: 'pin', about: of('root'), content: '{}' }, 5)
  await store.push.addKey(org_id, { public_key: 'p', sealed: 's' })
  await store.push.subscribe(user, { id: of('browser'), sealed: 's' }, 5)
  const login = { server: 'linear', owner_id: user, sealed: 's' }
  await store.mcpAccounts.keep({ org_id, server: login.server, owner_id: user }, null, {
    sealed: 's',
    issuer: null,
    scope: null,
    connected_at: null,
  })
  await store.mcpAccounts.beginLogin(org_id, {
    ...login,
    state_sha256: of('state'),
    user_id: user,
    ttl_ms: 9e12,
  })
  const agent = { org_id, kind: 'agent', name: 'engineer' }
  await store.settings.add(agent, 0, {
    change: 'publish',
    content: '{}',
    sealed: null,
    note: null,
    restored_from: null,
    changed_by: user,
  })
  await store.settings.pinAgent(org_id, of('session'), agent.name, 1)
}

async function copyOne(source: Place, target: Place, key: number): Promise<string[]> {
  const empty: string[] = []
  const rows = MOVED.map(([table, where]): [string, string] => [table, where.replaceAll('$1', String(key))])
  for (const table of await source.copyTo(target, rows)) {
    const found = await target.query(`SELECT count(*) AS count FROM ${table}`)
    if (Number(found[0]?.['count']) === 0) empty.push(table)
  }
  return empty
}

describe.each([
  ['the embedded store', makeSqlite],
  ['the store on Postgres', makePostgres],
])('%s', (_name, make) => {
  test('one of three organisations is copied by a predicate and works in an empty store', async () => {
    const [source, target] = [await make(), await make()]
    const before = await source.open()
    for (const org_id of ORGS) await fill(before, org_id)
    await before.search.catchUp()
    const logs = await Promise.all(['root', 'child'].map(name => readAll(before, `org_2-${name}`)))
    expect(await before.check()).toEqual([])
    await before.close()
    await (await target.open()).close()

    const [row] = await source.query(`SELECT org_key FROM organisations WHERE id = 'org_2'`)
    expect(await copyOne(source, target, Number(row?.['org_key']))).toEqual(
      MAY_BE_EMPTY.filter(() => source.schema === 'main'),
    )

    const moved = await target.open()
    try {
      expect(await moved.check()).toEqual([])
      expect(await Promise.all(['root', 'child'].map(name => readAll(moved, `org_2-${name}`)))).toEqual(logs)
      expect(await moved.sessions.get('org_1-root')).toBeNull()
      expect(await moved.snapshots.read('org_2-root', 'v')).toMatchObject({ last_id: 3, body: '{"n":3}' })
      expect(await moved.links.get('org_2-child')).toMatchObject({ parent_id: 'org_2-root' })
      expect(await moved.tasks.get('org_2-task')).toMatchObject({ status: 'todo' })
      expect(await moved.missions.current('org_2-root')).toMatchObject({ mission_id: 'org_2-mission' })
      expect(await moved.schedules.get('org_2-schedule')).toMatchObject({ version: 1 })
      expect(await moved.timers.claim('w', 10, 1000)).toHaveLength(2)
      expect(await moved.inbox.get('org_2-item')).toMatchObject({ org_id: 'org_2' })
      expect(await moved.channels.nextInbound('org_2-hook', 5)).toHaveLength(1)
      expect(await moved.accounts.findShare('org_2-share')).toMatchObject({ session_id: 'org_2-root' })
      await moved.search.catchUp()
      const { found } = await moved.search.find({ org_id: 'org_2', words: 'hello', limit: 5 })
      expect(found.map(({ session }) => session.id)).toEqual(['org_2-root'])
      // The child was created with a message; the root gets another one.
      await moved.commit({ session_id: 'org_2-root', events: [say('wake up')] })
      const claims = await moved.leases.claim('w', 10, 60_000)
      expect(claims.map(({ session }) => session.id).toSorted()).toEqual(['org_2-child', 'org_2-root'])
      expect(await moved.channels.acquire(NOTIFICATIONS, 'deliver', 'w', 1000)).toBe(1)
      await moved.sessions.create(newSession('org_2-new', { org_id: 'org_2' }))
      expect(await moved.check()).toEqual([])
    } finally {
      await moved.close()
    }
  })
})
