/**
 * A database that fails, returns, or does not report whether it committed: nothing is lost, written twice or
 * guessed.
 */
import { AppError } from '@cairn/protocol'
import { openPostgresStore, withRows } from '@cairn/log'
import { parsePostgresUrl } from '../src/postgres/address.ts'
import { openPool } from '../src/postgres/connections.ts'
import { readMigrations } from '../src/postgres/migrate.ts'
import { expect, onTestFinished, test } from 'vitest'
import { expectTold, ids, newSession, once, readAll, thought, upTo } from './conformance/fixture.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { makePostgresPlace, makePrivatePostgres, querySql, runSql } from './postgres-place.ts'

type Options = Partial<Parameters<typeof openPostgresStore>[0]>

async function open(url: string, options: Options = {}) {
  const store = await openPostgresStore({ url, ...options })
  onTestFinished(() => store.close())
  return store
}
async function place() {
  const made = await makePostgresPlace()
  onTestFinished(made.remove)
  return made.place
}
async function privatePlace() {
  const made = await makePrivatePostgres()
  onTestFinished(made.remove)
  return made
}
const textsOf = (events: readonly { json: string }[]): string[] =>
  events.map(({ json }) => (JSON.parse(json) as { data: { reasoning: string } }).data.reasoning)

/** Promise 9, 11: On Postgres a commit whose connection breaks is written once and acknowledged correctly. */
test.each(['before', 'after'] as const)(
  'a connection cut %s the COMMIT leaves each commit of the batch in the log once, and acknowledges it',
  async when => {
    const at = await place()
    const proxy = await startCuttingProxy(at)
    onTestFinished(proxy.close)
    const reported: string[] = []
    const store = await open(proxy.place, { report: (_, message) => void reported.push(message) })
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [thought('first')] })
    for (let round = 0; round < 5; round += 1) {
      const cut = proxy.cutNext(when)
      const answered = await Promise.all(
        ['a', 'b', 'c'].map(each =>
          store.commit({
            session_id: 's',
            events: [thought(`${round}${each}`), thought(`${round}${each}'`)],
          }),
        ),
      )
      await cut
      expect(answered.map(({ events }) => ids(events))).toEqual(
        [2, 4, 6].map(id => [id + round * 6, id + round * 6 + 1]),
      )
    }
    const all = await readAll(store, 's')
    expect(ids(all)).toEqual(upTo(31))
    expect(new Set(textsOf(all)).size).toBe(31)
    expect(reported).toContain(
      when === 'after'
        ? 'the batch in doubt was committed'
        : 'the batch in doubt was not committed and is tried again',
    )
    expect(await store.check()).toEqual([])
  },
)

test('a rejection in a batch whose answer was lost stays a rejection', async () => {
  const proxy = await startCuttingProxy(await place())
  onTestFinished(proxy.close)
  const store = await open(proxy.place)
  await store.sessions.create(newSession('s'))
  const cut = proxy.cutNext('after')
  const settled = await Promise.allSettled([
    store.commit({ session_id: 's', events: [thought('kept')] }),
    store.commit({ session_id: 's', events: [thought('gone')], expect_status: ['paused'] }),
  ])
  await cut
  expect(settled).toMatchObject([
    { status: 'fulfilled', value: { last_id: 1 } },
    { status: 'rejected', reason: { refusal: 'wrong_status' } },
  ])
})

/** Promise 9, 11: A database server that crashes under load loses no acknowledged event and repeats none. */
test('four crashes of the server under load lose no acknowledged event and repeat none', async () => {
  const { place: at, server } = await privatePlace()
  const stores = [await open(at, { patienceMs: 60_000 }), await open(at, { patienceMs: 60_000 })]
  const names = ['s0', 's1', 's2']
  for (const name of names) await stores[0]!.sessions.create(newSession(name))
  const done = new AbortController()
  const acknowledged: [string, number, string][] = []
  const grown = Array.from({ length: 5 }, once)
  const writers = Array.from({ length: 12 }, async (_, writer) => {
    for (let round = 0; !done.signal.aborted; round += 1) {
      const name = names[(writer + round) % 3] ?? ''
      const text = `${writer}/${round}`
      const { events } = await stores[writer % 2]!.commit({ session_id: name, events: [thought(text)] })
      acknowledged.push([name, events[0]?.id ?? 0, text])
      grown[Math.floor(acknowledged.length / 100)]?.call()
    }
  })
  for (let crash = 0; crash < 4; crash += 1) {
    await grown[crash]!.called
    await server.crash()
    await server.start()
  }
  await grown[4]!.called
  done.abort()
  await Promise.all(writers)
  const logs = new Map(
    await Promise.all(names.map(async name => [name, await readAll(stores[1]!, name)] as const)),
  )
  for (const [name, log] of logs) {
    expect(ids(log)).toEqual(upTo(log.length))
    expect(new Set(textsOf(log)).size, name).toBe(log.length)
  }
  for (const [name, id, text] of acknowledged) expect(textsOf([logs.get(name)![id - 1]!])).toEqual([text])
  // Every commit was answered, so the log contains only acknowledged events.
  expect([...logs.values()].reduce((sum, log) => sum + log.length, 0)).toBe(acknowledged.length)
  expect(await stores[0]!.check()).toEqual([])
})

test('during an outage reads and commits fail with a storage error, and afterwards the same store recovers', async () => {
  const { place: at, server } = await privatePlace()
  const [here, there] = [await open(at, { patienceMs: 200, pollMs: 100 }), await open(at)]
  await here.sessions.create(newSession('s'))
  await here.commit({ session_id: 's', events: [thought('before')] })
  await server.crash()
  const refused = await here.commit({ session_id: 's', events: [thought('lost')] }).then(
    () => null,
    (error: unknown) => error,
  )
  expect(refused).toMatchObject({
    name: 'AppError',
    code: 'storage',
    message: expect.stringContaining('nothing was written') as unknown,
  })
  await expect(here.sessions.get('s')).rejects.toBeInstanceOf(AppError)
  await expect(here.leases.claim('w', 1, 1000)).rejects.toMatchObject({ code: 'storage' })
  await server.start()
  const grown = once()
  here.events.watch('s', grown.call)
  await there.commit({ session_id: 's', events: [thought('after')] })
  await grown.called
  expect(textsOf(await readAll(here, 's'))).toEqual(['before', 'after'])
  expect((await here.commit({ session_id: 's', events: [thought('again')] })).last_id).toBe(3)
})

/** Promise 8: A lost notification delays a reader but loses no event. */
test('a reader that missed a notification finds the commit by the slow poll', async () => {
  const at = await place()
  const [here, there] = [await open(at, { pollMs: 50 }), await open(at)]
  await here.sessions.create(newSession('s'))
  const grown = once()
  const raised = once()
  here.events.watch('s', grown.call)
  here.inbox.watch('org_1', raised.call)
  // No process listens until the connections are back, so this notification is lost.
  await runSql(at, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`)
  await there.commit({
    session_id: 's',
    events: [
      withRows(thought('x'), {
        do: 'inbox.open',
        item: {
          id: 'i',
          kind: 'task_complete',
          title: 'T',
          body: null,
          payload: {},
          expires_at: null,
          tool_call_id: null,
        },
      }),
    ],
  })
  await expectTold('a reader of the session', grown)
  await expectTold('a reader of the inbox', raised)
  expect(await here.events.read('s', 0, 10)).toHaveLength(1)
})

/** Promise 11: Cairn refuses a database that cannot keep what it acknowledges. */
test('a database that may lose acknowledged data is rejected with the setting', async () => {
  const { place: at } = await privatePlace()
  for (const setting of ['fsync', 'full_page_writes']) {
    await runSql(at, `ALTER SYSTEM SET ${setting} = off`)
    await runSql(at, 'SELECT pg_reload_conf()')
    await expect(open(at)).rejects.toThrow(new RegExp(`runs with ${setting} = off, so a power cut`))
    await runSql(at, `ALTER SYSTEM RESET ${setting}`)
    await runSql(at, 'SELECT pg_reload_conf()')
  }
  // The store sets what a connection may choose for itself.
  await runSql(at, 'ALTER ROLE cairn SET synchronous_commit = off')
  const store = await open(at)
  await store.sessions.create(newSession('s'))
  expect((await store.commit({ session_id: 's', events: [thought('x')] })).last_id).toBe(1)
})

test('processes that start together on an empty database migrate it once', async () => {
  const at = await place()
  const stores = await Promise.all([1, 2, 3, 4].map(() => open(at)))
  await stores[0]!.sessions.create(newSession('s'))
  expect((await stores[3]!.sessions.get('s'))?.id).toBe('s')
  expect(
    await querySql(at, 'SELECT count(*)::int AS count, max(version)::int AS version FROM schema_migrations'),
  ).toEqual([{ count: readMigrations().length, version: readMigrations().at(-1)?.version }])
})

test('a schema of a newer version is rejected with both versions, and a read-only open creates none', async () => {
  const at = await place()
  await expect(open(at, { readOnly: true })).rejects.toThrow('no store in the schema')
  const store = await open(at)
  await store.sessions.create(newSession('s'))
  const beside = await open(at, { readOnly: true })
  expect(await beside.check()).toEqual([])
  await expect(beside.commit({ session_id: 's', events: [thought('x')] })).rejects.toThrow(
    'opened for reading only',
  )
  await runSql(at, `INSERT INTO schema_migrations (version, name) VALUES (9999, '9999_later.sql')`)
  await expect(open(at)).rejects.toThrow(
    /schema version 9999 and does not state which older programs .* knows up to \d+/,
  )
})

test('a closed store rejects writes, and completes the requests from before', async () => {
  const at = await place()
  const store = await open(at)
  await store.sessions.create(newSession('s'))
  const last = store.commit({ session_id: 's', events: [thought('last')] })
  const closed = store.close()
  await expect(store.commit({ session_id: 's', events: [thought('too late')] })).rejects.toThrow('clos')
  expect((await last).last_id).toBe(1)
  await closed
  expect(ids(await readAll(await open(at), 's'))).toEqual([1])
})

test('text that Postgres cannot store is replaced with text that it can', async () => {
  const store = await open(await place())
  await store.sessions.create(newSession('s', { title: 'a\0b' }))
  const { session } = await store.commit({
    session_id: 's',
    events: [thought('nul \0 lone \ud800 end')],
    set: { title: 'c\0d' },
  })
  expect(session.title).toBe('c\0d')
  expect((await store.sessions.get('s'))?.title).toBe('c\uFFFDd')
  expect(textsOf(await store.events.read('s', 0, 10))).toEqual(['nul \0 lone \ud800 end'])
  expect(await store.sessions.get('no\0body')).toBeNull()
})

test('all stores agree on the first value', async () => {
  const at = await place()
  const stores = [await open(at), await open(at)]
  const held = await Promise.all(stores.map((store, index) => store.agreeOn('key', `ours ${index}`)))
  expect(new Set(held).size).toBe(1)
  expect(await stores[1]!.agreeOn('key', 'another')).toBe(held[0])
})

test('a connection lost within a transaction fails that transaction, and the process continues', async () => {
  const at = await place()
  const db = openPool(parsePostgresUrl(at), () => {})
  onTestFinished(() => db.close())
  const lost = db.transaction('test', async ask => {
    const [row] = await ask({ name: 'pid', text: 'SELECT pg_backend_pid() AS pid' })
    await runSql(at, `SELECT pg_terminate_backend(${Number(row?.['pid'])}, 10000)`)
    await ask({ name: 'one', text: 'SELECT 1 AS one' })
  })
  await expect(lost).rejects.toMatchObject({ code: 'storage' })
  expect(await db.query({ name: 'two', text: 'SELECT 2 AS two' }, [])).toEqual([{ two: 2 }])
})
