/** Contract 5.3: a secret that is shown once is nowhere in the store, whatever the request contained. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePostgresPlace, querySql } from '@cairn/log/test/postgres-place'
import { expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { type Service, startService } from '../service.ts'

type Stored = { service: Service; /** All that the store holds, as text. */ read(): Promise<string> }

async function onSqlite(): Promise<Stored & AsyncDisposable> {
  const service = await startService()
  const dir = join(service.dir, 'store')
  return {
    service,
    // The database, its write-ahead log and other files in the folder: latin1 keeps every byte.
    read: async () =>
      readdirSync(dir)
        .map(name => readFileSync(join(dir, name), 'latin1'))
        .join('\n'),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

async function onPostgres(): Promise<Stored & AsyncDisposable> {
  const { place, schema, remove } = await makePostgresPlace()
  const service = await startService({ postgres: place })
  return {
    service,
    async read() {
      const tables = await querySql(place, 'SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema])
      const rows = await Promise.all(
        tables.map(({ tablename }) => querySql(place, `SELECT t::text AS row FROM "${String(tablename)}" t`)),
      )
      return rows
        .flat()
        .map(({ row }) => String(row))
        .join('\n')
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await remove()
    },
  }
}

const stores = { SQLite: onSqlite, Postgres: onPostgres }

/** Promise 5.3: The store contains no secret that is shown only once. */
test.each(Object.entries(stores))(
  'on %s the store contains no token, login link or refresh token, with or without an Idempotency-Key',
  async (name, open) => {
    await using stored = await open()
    const { service, read } = stored
    const post = (path: string, body: unknown, key?: string, token: string | null = service.adminToken) =>
      service.call(path, {
        method: 'POST',
        body,
        token,
        headers: key === undefined ? {} : { 'idempotency-key': key },
      })
    const secrets: Record<string, string> = {}
    for (const key of [undefined, 'a-key']) {
      const account = await post('/v1/admin/service-accounts', { name: `machine ${key ?? 0}` }, key)
      const user = await post(
        '/v1/admin/users',
        { email: `${key ?? 'no'}@example.org`, name: 'U' },
        key && `${key}-2`,
      )
      const login = await post('/v1/auth/login', { link_token: user.json.login_token }, undefined, null)
      const again = await post(
        '/v1/auth/refresh',
        { refresh_token: login.json.refresh_token },
        undefined,
        null,
      )
      expect([account.status, user.status, login.status, again.status]).toEqual([201, 201, 200, 200])
      secrets[`service token, ${key}`] = account.json.token
      secrets[`login link, ${key}`] = user.json.login_token
      secrets[`refresh token, ${key}`] = login.json.refresh_token.split('.')[1]
      secrets[`refresh token after use, ${key}`] = again.json.refresh_token.split('.')[1]
      secrets[`access token, ${key}`] = again.json.access_token
    }
    const text = await read()
    // Text that belongs there is found, so the search works.
    expect(text).toContain('a-key@example.org')
    const found = Object.entries(secrets).flatMap(([what, secret]) => (text.includes(secret) ? [what] : []))
    tally(`secrets shown once, ${name}`, Object.keys(secrets).length, found.length)
    expect(found).toEqual([])
  },
)

/** Promise 4.5: A replay of a request that returned a secret reports that the secret was already shown. */
test.each(Object.entries(stores))(
  'on %s a replay of a request that returned a secret reports that it was shown, and what was created',
  async (_, open) => {
    await using stored = await open()
    const { service } = stored
    for (const [path, body, secret] of [
      ['/v1/admin/service-accounts', { name: 'machine' }, 'token'],
      ['/v1/admin/users', { email: 'u@example.org', name: 'U' }, 'login_token'],
    ] as const) {
      const send = (of: unknown = body) =>
        service.call(path, {
          method: 'POST',
          body: of,
          headers: { 'idempotency-key': `k ${path}`.replace(' ', '-') },
        })
      const first = await send()
      const replay = await send()
      expect([first.status, replay.status, replay.json.code]).toEqual([201, 409, 'shown_once'])
      expect(replay.json.detail).toContain(secret)
      const { [secret]: _shown, ...made } = first.json
      expect(replay.json.created).toEqual(made)
      expect(replay.text).not.toContain(first.json[secret])
      expect((await send({ ...body, name: 'other' })).json.code).toBe('idempotency_mismatch')
      // Nothing was created twice.
      const listed = await service.call(path)
      expect(listed.text.split(`"id":"${first.json.id}"`)).toHaveLength(2)
    }
    expect((await service.call('/v1/admin/service-accounts')).json.service_accounts).toHaveLength(1)
  },
)
