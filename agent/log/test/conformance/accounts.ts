/** Organisations, users, service accounts and their logins. */
import { expect, test } from 'vitest'
import type { Commit, LogStore } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, refused, say } from './fixture.ts'

const DAY = 24 * 3600 * 1000
const firstAdmin = (store: LogStore, id = 'u1') =>
  store.accounts.ensureFirstAdmin(
    { id: 'org_1', name: 'Home' },
    { id, email: 'admin@example.org', name: 'Ada' },
  )

const OWN = { org_id: 'org_1', principal_id: 'p', key: 'k' }
const OTHER = { ...OWN, principal_id: 'other' }

export function defineAccounts({ open }: Bench): void {
  test('the first start creates one administrator, and later starts find it', async () => {
    const { store, clock } = await open()
    const admin = await firstAdmin(store)
    expect(admin).toEqual({
      id: 'u1',
      org_id: 'org_1',
      email: 'admin@example.org',
      name: 'Ada',
      admin: true,
      password_hash: null,
      created_at: clock.now(),
      disabled_at: null,
    })
    expect(await firstAdmin(store, 'u2')).toEqual(admin)
    expect(await store.accounts.listUsers('org_1')).toEqual([admin])
  })

  test('users are found by id and by address in any case, and an address is unique', async () => {
    const { store } = await open()
    await firstAdmin(store)
    const user = await store.accounts.createUser({
      id: 'u2',
      org_id: 'org_1',
      email: 'Bob@example.org',
      name: 'Bob',
      admin: false,
      password_hash: null,
    })
    expect(await store.accounts.getUser('u2')).toEqual(user)
    expect(await store.accounts.findUserByEmail('bob@EXAMPLE.org')).toEqual(user)
    await expect(store.accounts.createUser({ ...user, id: 'u3', email: 'BOB@example.org' })).rejects.toThrow(
      /exists already/,
    )
    await store.accounts.setPassword('u2', 'hash')
    expect(await store.accounts.disableUser('u2', 5)).toBe(true)
    expect(await store.accounts.disableUser('u2', 6)).toBe(false)
    expect(await store.accounts.getUser('u2')).toMatchObject({ password_hash: 'hash', disabled_at: 5 })
    expect(await store.accounts.getUser('nobody')).toBeNull()
  })

  test('a service account is found by its token hash, also when revoked, and records its last use', async () => {
    const { store, clock } = await open()
    await firstAdmin(store)
    const account = await store.accounts.createServiceAccount({
      id: 'sa',
      org_id: 'org_1',
      name: 'ci',
      scope: 'own',
      token_sha256: 'f00',
      token_prefix: 'cairn_sk_ab',
      created_by: 'u1',
      expires_at: null,
    })
    expect(await store.accounts.getServiceAccount('sa')).toEqual(account)
    expect(await store.accounts.getServiceAccount('nobody')).toBeNull()
    expect(await store.accounts.findServiceAccount('f00')).toEqual(account)
    expect(await store.accounts.listServiceAccounts('org_1')).toMatchObject([
      { id: 'sa', last_used_at: clock.now() },
    ])
    expect(await store.accounts.revokeServiceAccount('org_2', 'sa', 9)).toBe(false)
    expect(await store.accounts.revokeServiceAccount('org_1', 'sa', 9)).toBe(true)
    expect(await store.accounts.findServiceAccount('f00')).toMatchObject({ revoked_at: 9 })
    expect(await store.accounts.findServiceAccount('bad')).toBeNull()
  })

  test('the hash of a refresh token is replaced once, and a wrong one changes nothing', async () => {
    const { store, clock } = await open()
    await firstAdmin(store)
    await store.accounts.createLogin({
      id: 'l',
      user_id: 'u1',
      refresh_sha256: 'r1',
      expires_at: clock.now() + DAY,
    })
    expect(await store.accounts.rotateLogin('l', 'r1', 'r2', clock.now() + 2 * DAY)).toBe(true)
    expect(await store.accounts.getLogin('l')).toMatchObject({
      refresh_sha256: 'r2',
      expires_at: clock.now() + 2 * DAY,
      revoked_at: null,
    })
    expect(await store.accounts.rotateLogin('l', 'r1', 'r3', clock.now() + DAY)).toBe(false)
    expect(await store.accounts.getLogin('l')).toMatchObject({ refresh_sha256: 'r2', revoked_at: null })
    await store.accounts.revokeLogin('l', clock.now())
    expect(await store.accounts.rotateLogin('l', 'r2', 'r4', clock.now() + DAY)).toBe(false)
  })

  test('a login can be revoked, and a login link works once until a newer link or its expiry', async () => {
    const { store, clock } = await open()
    await firstAdmin(store)
    await store.accounts.createLogin({
      id: 'l',
      user_id: 'u1',
      refresh_sha256: 'r1',
      expires_at: clock.now() + DAY,
    })
    await store.accounts.revokeLogin('l', 77)
    expect((await store.accounts.getLogin('l'))?.revoked_at).toBe(77)
    await store.accounts.addLoginLink('link0', 'u1', clock.now() + 1000)
    await store.accounts.addLoginLink('link1', 'u1', clock.now() + 1000)
    expect(await store.accounts.useLoginLink('link0', clock.now())).toBeNull()
    expect(await store.accounts.useLoginLink('link1', clock.now())).toBe('u1')
    await store.accounts.addLoginLink('link2', 'u1', clock.now() + 1000)
    expect(await store.accounts.useLoginLink('link1', clock.now())).toBeNull()
    expect(await store.accounts.useLoginLink('link2', clock.now() + 1000)).toBeNull()
  })

  test('an idempotency key reserves its answer, keeps it for a day, and is released if the request failed', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const { accounts } = store
    expect(await accounts.beginIdempotent(OWN, 'body')).toBeNull()
    expect(await accounts.beginIdempotent(OWN, 'body')).toEqual({
      body_sha256: 'body',
      status: null,
      body: null,
    })
    expect(await accounts.beginIdempotent(OTHER, 'body')).toBeNull()
    await accounts.finishIdempotent(OWN, 201, '{"id":"s"}')
    clock.advance(DAY - 1)
    expect(await accounts.beginIdempotent(OWN, 'else')).toEqual({
      body_sha256: 'body',
      status: 201,
      body: '{"id":"s"}',
    })
    await accounts.dropIdempotent(OWN)
    expect(await accounts.beginIdempotent(OWN, 'body')).toMatchObject({ status: 201 })
    clock.advance(1)
    expect(await accounts.beginIdempotent(OWN, 'body')).toBeNull()
    await accounts.dropIdempotent(OWN)
    expect(await accounts.beginIdempotent(OWN, 'body')).toBeNull()
  })

  test('an abandoned idempotency key can be reserved again by the same request only', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const { accounts } = store
    expect(await accounts.beginIdempotent(OWN, 'body')).toBeNull()
    clock.advance(59_000)
    expect(await accounts.beginIdempotent(OWN, 'body')).toEqual({
      body_sha256: 'body',
      status: null,
      body: null,
    })
    clock.advance(1000)
    expect(await accounts.beginIdempotent(OWN, 'else')).toEqual({
      body_sha256: 'body',
      status: null,
      body: null,
    })
    const taken = await Promise.all(Array.from({ length: 5 }, () => accounts.beginIdempotent(OWN, 'body')))
    expect(taken.filter(found => found?.abandoned)).toEqual([
      { body_sha256: 'body', status: null, body: null, abandoned: true },
    ])
    await accounts.finishIdempotent(OWN, 202, '{}')
    clock.advance(120_000)
    expect(await accounts.beginIdempotent(OWN, 'body')).toEqual({
      body_sha256: 'body',
      status: 202,
      body: '{}',
    })
  })

  /** A message whose commit stores the answer to its request. */
  const messageWith = (key: string, body_sha256: string): Commit => ({
    session_id: 's',
    events: [say('m')],
    rows: [
      {
        do: 'request.answer',
        request: { principal_id: OWN.principal_id, key, body_sha256, status: 202 },
        members: { session_id: 's' },
      },
    ],
  })

  test('the answer to a request is stored with its event, once, and expires after a day', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const { accounts } = store
    expect(await accounts.findIdempotent(OWN)).toBeNull()
    const attempts = await Promise.allSettled(
      Array.from({ length: 5 }, () => store.commit(messageWith(OWN.key, 'body'))),
    )
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const attempt of attempts)
      if (attempt.status === 'rejected') expect(attempt.reason).toMatchObject({ refusal: 'request_answered' })
    expect(await store.events.read('s', 0, 10)).toHaveLength(1)
    const answer = { body_sha256: 'body', status: 202, body: '{"event_id":1,"session_id":"s"}' }
    expect(await accounts.findIdempotent(OWN)).toEqual(answer)
    expect(await accounts.beginIdempotent(OWN, 'body')).toEqual(answer)
    expect(await accounts.findIdempotent(OTHER)).toBeNull()
    clock.advance(DAY - 1)
    await refused(store, messageWith(OWN.key, 'else'), 'request_answered')
    clock.advance(1)
    expect(await accounts.findIdempotent(OWN)).toBeNull()
    await store.commit(messageWith(OWN.key, 'else'))
    expect(await accounts.findIdempotent(OWN)).toEqual({
      body_sha256: 'else',
      status: 202,
      body: '{"event_id":2,"session_id":"s"}',
    })
  })

  test('an answer is not stored while another request holds the key, until it is abandoned', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const { accounts } = store
    await accounts.beginIdempotent(OWN, 'body')
    const held = { body_sha256: 'body', status: null, body: null }
    expect(await accounts.findIdempotent(OWN)).toEqual(held)
    clock.advance(59_000)
    await refused(store, messageWith(OWN.key, 'body'), 'request_answered')
    clock.advance(1000)
    expect(await accounts.findIdempotent(OWN)).toEqual({ ...held, abandoned: true })
    await refused(store, messageWith(OWN.key, 'else'), 'request_answered')
    await store.commit(messageWith(OWN.key, 'body'))
    expect(await accounts.findIdempotent(OWN)).toMatchObject({ status: 202 })
    expect(await store.events.read('s', 0, 10)).toHaveLength(1)
  })

  test('all logins of a user but one are revoked together with the unused links', async () => {
    const { store, clock } = await open()
    const { accounts } = store
    const admin = await accounts.ensureFirstAdmin(
      { id: 'o', name: 'O' },
      { id: 'u', email: 'u@example.org', name: 'U' },
    )
    await accounts.createUser({
      id: 'v',
      org_id: admin.org_id,
      email: 'v@example.org',
      name: 'V',
      admin: false,
      password_hash: null,
    })
    for (const [id, user_id] of [
      ['a', 'u'],
      ['b', 'u'],
      ['c', 'u'],
      ['d', 'v'],
    ] as const)
      await accounts.createLogin({ id, user_id, refresh_sha256: id, expires_at: clock.now() + DAY })
    await accounts.addLoginLink('link-u', 'u', clock.now() + DAY)
    await accounts.addLoginLink('link-v', 'v', clock.now() + DAY)
    await accounts.revokeLogins('u', 77, 'b')
    expect(
      await Promise.all(['a', 'b', 'c', 'd'].map(async id => (await accounts.getLogin(id))?.revoked_at)),
    ).toEqual([77, null, 77, null])
    expect([
      await accounts.useLoginLink('link-u', clock.now()),
      await accounts.useLoginLink('link-v', clock.now()),
    ]).toEqual([null, 'v'])
    await accounts.revokeLogins('u', 78, null)
    expect((await accounts.getLogin('b'))?.revoked_at).toBe(78)
  })

  test('only one of many concurrent requests with the same key starts', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const begun = await Promise.all(
      Array.from({ length: 20 }, () => store.accounts.beginIdempotent(OWN, 'body')),
    )
    expect(begun.filter(found => found === null)).toHaveLength(1)
  })

  test('a share link is found by its token hash, and is revoked once and only by its session', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const expires_at = clock.now() + DAY
    const link = { id: 'l', token_sha256: 'hash', session_id: 's', created_by: 'u1', expires_at }
    const made = await store.accounts.addShare(link)
    expect(made).toEqual({ ...link, created_at: clock.now(), revoked_at: null })
    expect(await store.accounts.findShare('hash')).toEqual(made)
    expect(await store.accounts.findShare('other')).toBeNull()
    expect(await store.accounts.listShares('other')).toEqual([])
    expect(await store.accounts.revokeShare('other', 'l', 5)).toBe(false)
    expect(await store.accounts.revokeShare('s', 'l', 5)).toBe(true)
    expect(await store.accounts.revokeShare('s', 'l', 6)).toBe(false)
    expect(await store.accounts.listShares('s')).toEqual([{ ...made, revoked_at: 5 }])
  })
}
