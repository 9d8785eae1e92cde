/** Connections of cairn.yaml and of the page: a person's setting applies until a person changes it. */
import { expect, test } from 'vitest'
import { repliesOf } from '@cairn/log'
import type { Bench } from './bench.ts'

const named = (id: string, org_id = 'org_1') => ({
  id,
  org_id,
  name: id,
  platform: 'webhook',
  service_account_id: 'account',
})
const made = (id: string, org_id?: string) => ({
  ...named(id, org_id),
  settings: '{"a":1}',
  sealed_secrets: 'x',
})

export function defineConnections({ open }: Bench): void {
  test('a disabled connection stays disabled, whatever a process writes, until it is enabled', async () => {
    const { store, clock } = await open()
    const { channels } = store
    const get = () => channels.getConnection('hook')
    await channels.putConnection(named('hook'))
    await channels.setConnection('hook', 'disabled', 'gone')
    const since = clock.now()
    clock.advance(1000)
    await channels.setConnection('hook', 'live', null)
    await channels.recoverConnection('hook')
    await channels.putConnection(named('hook'))
    expect(await get()).toMatchObject({ state: 'disabled', last_error: 'gone', state_since: since })
    await channels.refuseConnection('hook', 'these')
    await channels.enableConnection('hook')
    expect(await get()).toMatchObject({
      state: 'connecting',
      state_since: clock.now(),
      last_error: null,
      refused_sha256: null,
      revision: 1,
    })
    await channels.disableConnection('hook')
    await channels.disableConnection('hook')
    expect(await get()).toMatchObject({ state: 'disabled', last_error: null, revision: 2 })
  })

  test('a page connection has a unique name, and is changed only in the version that was read', async () => {
    const { store } = await open()
    const { channels } = store
    expect(await channels.createConnection(made('hook'))).toBe(true)
    expect(await channels.createConnection(made('hook'))).toBe(false)
    expect(await channels.createConnection({ ...made('other'), name: 'hook' })).toBe(false)
    expect(await channels.createConnection(made('far', 'org_2'))).toBe(true)
    await channels.putConnection(named('file'))
    const standing = async (org: string) => (await channels.standingConnections(org)).map(({ id }) => id)
    expect(await standing('org_1')).toEqual(['far', 'file', 'hook'])
    expect(await standing('org_2')).toEqual(['far', 'hook'])

    await channels.setConnection('hook', 'broken', 'no')
    await channels.refuseConnection('hook', 'these')
    const changed = { settings: '{"a":2}', sealed_secrets: 'y' }
    expect(await channels.changeConnection('hook', 0, changed)).toBe(true)
    expect(await channels.changeConnection('hook', 0, changed)).toBe(false)
    expect(await channels.changeConnection('file', 0, changed)).toBe(false)
    expect(await channels.getConnection('hook')).toMatchObject({
      ...changed,
      origin: 'page',
      revision: 1,
      state: 'connecting',
      last_error: null,
      refused_sha256: null,
    })
    await channels.disableConnection('hook')
    await channels.changeConnection('hook', 2, changed)
    expect(await channels.getConnection('hook')).toMatchObject({ state: 'disabled', revision: 3 })

    // cairn.yaml takes over the name.
    await channels.putConnection(named('far', 'org_2'))
    expect(await channels.getConnection('far')).toMatchObject({
      origin: 'config',
      settings: null,
      sealed_secrets: null,
    })
  })

  test('deleting a page connection deletes its data and no data of others', async () => {
    const { store } = await open()
    const { channels } = store
    for (const id of ['hook', 'other']) {
      await channels.createConnection(made(id))
      const body = { connection_id: id, body: '{}' }
      await channels.receive({ ...body, event_key: '1', conversation_key: 'one', sender: 'ann' })
      await channels.seeSender(id, 'ann', 'Ann')
      await channels.planReply({ ...body, session_id: repliesOf(id), event_id: 1, part: 0, key: `k ${id}` })
    }
    await channels.putConnection(named('file'))
    expect(await channels.deleteConnection('file', 'page')).toBe(false)
    expect(await channels.deleteConnection('hook', 'page')).toBe(true)
    expect(await channels.deleteConnection('hook', 'page')).toBe(false)
    const left = async (id: string) => [
      (await channels.nextInbound(id, 10)).length,
      (await channels.listSenders(id, 10)).length,
      (await channels.dueReplies(id, 10)).length,
      await channels.deliveryOfKey(id, `k ${id}`).then(row => row?.state ?? null),
    ]
    expect(await left('hook')).toEqual([0, 0, 0, null])
    expect(await left('other')).toEqual([1, 1, 1, 'planned'])
    expect(await channels.deliveryOfKey('other', 'k hook')).toBeNull()
  })

  test('a sender is listed with the user who is linked on that platform', async () => {
    const { store } = await open()
    const { channels } = store
    await channels.putConnection(named('hook'))
    await channels.seeSender('hook', 'U1', 'Ann')
    const where = { org_id: 'org_1', workspace: 'w', platform_user_id: 'U1' }
    await channels.putIdentity({ id: 'i', ...where, platform: 'slack', user_id: 'bob' })
    expect(await channels.listSenders('hook', 10)).toMatchObject([{ name: 'Ann', user_id: null }])
    await channels.putIdentity({ id: 'j', ...where, platform: 'webhook', user_id: 'ann' })
    expect(await channels.listSenders('hook', 10)).toMatchObject([{ name: 'Ann', user_id: 'ann' }])
  })
}
