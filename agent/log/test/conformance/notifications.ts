/** Notifications: due ones are derived from open items, planned once, and moved only under one lease. */
import { expect, test } from 'vitest'
import {
  type LogStore,
  type NewInboxItem,
  NOTIFICATIONS,
  type NotificationMethod,
  withRows,
} from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, say } from './fixture.ts'

const ORG = 'org_1'
const KINDS = JSON.stringify(['input_required', 'governance_gate'])
const MINUTE = 60_000
const GATE = { id: 'gate', user_id: 'ann' }

type Chosen = { scope?: 'own' | 'org'; kinds?: string; after_ms?: number }

export function defineNotifications({ open, sql }: Bench): void {
  async function begin() {
    const opened = await open()
    const { accounts } = opened.store
    await accounts.ensureFirstAdmin(
      { id: ORG, name: 'Org' },
      { id: 'root', email: 'root@example.org', name: 'Root' },
    )
    await sql(
      opened.place,
      "INSERT INTO organisations (id, org_key, name, created_at) VALUES ('org_2', 2, 'Other', 0)",
    )
    const rest = { password_hash: null, admin: false }
    for (const [id, org_id] of [
      ['ann', ORG],
      ['bob', ORG],
      ['eve', 'org_2'],
    ] as const)
      await accounts.createUser({ ...rest, id, org_id, email: `${id}@example.org`, name: id })
    await opened.store.sessions.create(newSession('s', { org_id: ORG, created_by: 'ann' }))
    return opened
  }
  const choose = (
    { notifications }: LogStore,
    user_id: string,
    { scope = 'own', kinds = KINDS, after_ms = 0 }: Chosen = {},
  ) => notifications.putChoice({ user_id, org_id: user_id === 'eve' ? 'org_2' : ORG, scope, kinds, after_ms })
  const hook = ({ notifications }: LogStore, user_id: string) =>
    notifications.setWebhook(user_id, { url: 'https://example.org/hook', secret: 'sealed' })
  const raise = (store: LogStore, id: string, more: Partial<NewInboxItem> = {}) =>
    store.commit({
      session_id: 's',
      events: [
        withRows(say('raise'), {
          do: 'inbox.open',
          item: {
            id,
            kind: 'governance_gate',
            title: 'Run terminal?',
            body: null,
            payload: {},
            expires_at: null,
            tool_call_id: null,
            ...more,
          },
        }),
      ],
    })
  const answer = (store: LogStore, id: string) =>
    store.commit({
      session_id: 's',
      events: [],
      rows: [{ do: 'inbox.answer', id, decision: 'approve', status: 'responded' }],
    })
  const freshOf = async ({ notifications }: LogStore) =>
    (await notifications.fresh(10)).map(({ item_id, user_id, way }) => `${item_id} ${user_id} ${way}`)
  const plan = (
    { notifications }: LogStore,
    about: string,
    id = about,
    way: NotificationMethod = 'webhook',
  ) => notifications.plan({ id, user_id: 'ann', way, about, next_at: 0 })
  const lease = async ({ channels }: LogStore, holder = 'one') =>
    (await channels.acquire(NOTIFICATIONS, 'deliver', holder, MINUTE)) ?? 0

  test('Web Push covers what needs an answer in own sessions, from the first browser on', async () => {
    const { store, clock } = await begin()
    await choose(store, 'ann', { kinds: '[]' })
    await choose(store, 'root', { scope: 'org' })
    await raise(store, 'before')
    clock.advance(1000)
    for (const user of ['ann', 'root']) await store.push.subscribe(user, { id: 'b', sealed: 's' }, 5)
    await raise(store, 'after')
    await raise(store, 'news', { kind: 'task_complete' })
    expect(await freshOf(store)).toEqual(['after ann push'])
    await store.push.unsubscribe('ann', 'b')
    expect(await freshOf(store)).toEqual([])
  })

  test('a user gets no notification before they enable it, and then only for later items', async () => {
    const { store, clock } = await begin()
    expect(await store.notifications.settings('ann')).toBeNull()
    await raise(store, 'before')
    await choose(store, 'ann')
    expect(await freshOf(store), 'by no way').toEqual([])
    clock.advance(1)
    await hook(store, 'ann')
    await raise(store, 'gate')
    await raise(store, 'news', { kind: 'task_complete' })
    expect(await freshOf(store), 'of the kinds that were chosen').toEqual(['gate ann webhook'])
    await choose(store, 'ann', { kinds: '[]' })
    expect(await freshOf(store)).toEqual([])
    expect(await store.notifications.settings('ann'), 'the way stays').toMatchObject({
      kinds: '[]',
      webhook_url: 'https://example.org/hook',
      webhook_since: clock.now(),
    })
  })

  /** Promise 4.19: On each store an open item notifies its owner and the administrators who enabled it. */
  test('an open item notifies its owner and opted-in administrators, and no other organisation', async () => {
    const { store } = await begin()
    for (const user of ['root', 'ann', 'bob', 'eve']) {
      await choose(store, user, { scope: 'org' })
      await hook(store, user)
    }
    await raise(store, 'gate')
    expect((await freshOf(store)).toSorted()).toEqual(['gate ann webhook', 'gate root webhook'])
    await choose(store, 'root', { scope: 'own' })
    expect(await freshOf(store)).toEqual(['gate ann webhook'])
    await store.accounts.disableUser('ann', 1)
    expect(await freshOf(store)).toEqual([])
  })

  test('an answered or expired item is not due, and the due time adds the chosen delay', async () => {
    const { store, clock } = await begin()
    await choose(store, 'ann', { after_ms: MINUTE })
    await hook(store, 'ann')
    const at = clock.now()
    await raise(store, 'one')
    await raise(store, 'two', { expires_at: at + 5 })
    await answer(store, 'one')
    clock.advance(5)
    expect(await freshOf(store)).toEqual([])
    await raise(store, 'three')
    expect(await store.notifications.fresh(10)).toEqual([
      { item_id: 'three', user_id: 'ann', way: 'webhook', due_at: at + 5 + MINUTE },
    ])
  })

  test('an item is planned once per person and method', async () => {
    const { store } = await begin()
    await choose(store, 'ann')
    await hook(store, 'ann')
    await raise(store, 'gate')
    await plan(store, 'gate', 'first')
    await plan(store, 'gate', 'second')
    expect(await freshOf(store)).toEqual([])
    expect(
      (await store.notifications.due(10)).map(({ id, state, attempts }) => [id, state, attempts]),
    ).toEqual([['first', 'due', 0]])
  })

  test('only the holder of the lease starts and settles a notification, and a settled one is final', async () => {
    const { store, clock } = await begin()
    const { notifications } = store
    await plan(store, 'gate')
    const old = await lease(store)
    expect(await lease(store, 'two'), 'one holder at a time').toBe(0)
    clock.advance(MINUTE + 1)
    const epoch = await lease(store, 'two')
    const beginAs = (attempts: number, by = epoch) => notifications.begin({ ...GATE, attempts }, by)
    expect(await beginAs(0, old)).toBe(false)
    expect(await beginAs(0)).toBe(true)
    expect(await beginAs(0), 'as it was before').toBe(false)
    expect(await notifications.settle(GATE, { state: 'sent' }, old)).toBe(false)
    expect(await notifications.due(10), 'found so by a later holder').toMatchObject([
      { state: 'sending', attempts: 1 },
    ])
    const next_at = clock.now() + 10
    expect(await notifications.settle(GATE, { state: 'due', next_at, error: 'no' }, epoch)).toBe(true)
    expect(await notifications.due(10)).toEqual([])
    expect(await beginAs(1), 'read while it was tried: it has its time by now').toBe(false)
    clock.advance(10)
    expect(await beginAs(1)).toBe(true)
    expect(await notifications.settle(GATE, { state: 'sent' }, epoch)).toBe(true)
    expect(await beginAs(2)).toBe(false)
    expect(await notifications.list('ann', 10)).toMatchObject([{ state: 'sent', attempts: 2, error: null }])
    expect(await notifications.sent('ann', 'webhook', 1000)).toEqual({ count: 1, oldest: clock.now() })
    expect(await notifications.sent('ann', 'mail', 1000)).toMatchObject({ count: 0 })
  })

  test('its person can resend an abandoned notification, from the first attempt and under the same id', async () => {
    const { store, clock } = await begin()
    const { notifications } = store
    await plan(store, 'gate')
    expect(await notifications.redo('gate', 'ann'), 'it waits anyway').toBe(false)
    const epoch = await lease(store)
    await notifications.begin({ ...GATE, attempts: 0 }, epoch)
    await notifications.settle(GATE, { state: 'dead', error: 'no' }, epoch)
    clock.advance(10)
    expect(await notifications.redo('gate', 'root'), 'of another').toBe(false)
    expect(await notifications.due(10)).toEqual([])
    expect(await notifications.redo('gate', 'ann')).toBe(true)
    expect(await notifications.due(10)).toMatchObject([
      { id: 'gate', state: 'due', attempts: 0, error: null, next_at: clock.now() },
    ])
    expect(await notifications.begin({ ...GATE, attempts: 0 }, epoch)).toBe(true)
  })

  test('an unconfirmed address gets no notification, and its code has limited attempts and an expiry', async () => {
    const { store, clock } = await begin()
    const { notifications } = store
    await choose(store, 'ann')
    await notifications.setMail('ann', { address: 'ann@example.org', code: 'sealed', ttl_ms: 1000 })
    await raise(store, 'early')
    expect(await freshOf(store)).toEqual([])
    expect(await notifications.tryMailCode('bob', 2)).toBeNull()
    expect([await notifications.tryMailCode('ann', 2), await notifications.tryMailCode('ann', 2)]).toEqual([
      'sealed',
      'sealed',
    ])
    expect(await notifications.tryMailCode('ann', 2), 'tried too often').toBeNull()
    await notifications.setMail('ann', { address: 'ann@example.org', code: 'another', ttl_ms: 1000 })
    expect(await notifications.confirmMail('ann', 'sealed')).toBe(false)
    clock.advance(1000)
    expect(await notifications.tryMailCode('ann', 2), 'too late').toBeNull()
    await notifications.setMail('ann', { address: 'ann@example.org', code: 'third', ttl_ms: 1000 })
    expect(await notifications.tryMailCode('ann', 2)).toBe('third')
    expect(await notifications.confirmMail('ann', 'third')).toBe(true)
    expect(await notifications.tryMailCode('ann', 2), 'confirmed').toBeNull()
    clock.advance(1)
    await raise(store, 'late')
    expect(await freshOf(store)).toEqual(['late ann mail'])
    await notifications.setMail('ann', null)
    expect(await freshOf(store)).toEqual([])
  })

  test('a settled notification is pruned only after its item was answered, so it is not sent twice', async () => {
    const { store, clock } = await begin()
    await choose(store, 'ann')
    await hook(store, 'ann')
    await raise(store, 'gate')
    await plan(store, 'gate')
    const epoch = await lease(store)
    await store.notifications.begin({ ...GATE, attempts: 0 }, epoch)
    await store.notifications.settle(GATE, { state: 'sent' }, epoch)
    clock.advance(MINUTE)
    await store.notifications.prune(MINUTE)
    expect(await freshOf(store)).toEqual([])
    await answer(store, 'gate')
    await store.notifications.prune(MINUTE)
    expect(await store.notifications.list('ann', 10)).toEqual([])
  })
}
