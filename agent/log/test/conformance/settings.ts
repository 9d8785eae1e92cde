/** Settings: versions that never change, one change of a version at a time, and secrets that are erased. */
import { expect, test } from 'vitest'
import type { NewSetting, SettingKey } from '@cairn/log'
import type { Bench } from './bench.ts'

const ORG = 'org_1'
const KEY: SettingKey = { org_id: ORG, kind: 'agent', name: 'engineer' }
const publish = (content: string, note: string | null = null): NewSetting => ({
  change: 'publish',
  content,
  sealed: null,
  note,
  restored_from: null,
  changed_by: 'root',
})

export function defineSettings({ open }: Bench): void {
  async function begin() {
    const opened = await open()
    const { accounts } = opened.store
    await accounts.ensureFirstAdmin(
      { id: ORG, name: 'Org' },
      { id: 'root', email: 'root@example.org', name: 'Root' },
    )
    return { ...opened, settings: opened.store.settings }
  }

  test('stores every change as a version, and rejects a change of an older one', async () => {
    const { settings, clock } = await begin()
    expect(await settings.seq(ORG)).toBe(0)
    expect(await settings.heads(ORG)).toEqual([])
    expect(await settings.add(KEY, 0, publish('{"a":1}', 'first'))).toBe(1)
    expect(await settings.add(KEY, 0, publish('{"a":"late"}'))).toBeNull()
    expect(await settings.add(KEY, 1, publish('{"a":2}'))).toBe(2)
    expect(await settings.add(KEY, 4, publish('{"a":"early"}'))).toBeNull()
    expect(await settings.seq(ORG)).toBe(2)
    expect(await settings.heads(ORG)).toEqual([
      {
        seq: 2,
        kind: 'agent',
        name: 'engineer',
        version: 2,
        ...publish('{"a":2}'),
        changed_at: clock.now(),
      },
    ])
    expect((await settings.versions(KEY, 10)).map(({ version, note }) => [version, note])).toEqual([
      [2, null],
      [1, 'first'],
    ])
    expect(await settings.version(KEY, 1)).toMatchObject({ content: '{"a":1}', note: 'first' })
    expect(await settings.version(KEY, 3)).toBeNull()
  })

  test('of two changes of one version at once, one is stored', async () => {
    const { settings } = await begin()
    const added = await Promise.all([1, 2, 3, 4].map(n => settings.add(KEY, 0, publish(`{"n":${n}}`))))
    expect(added.filter(version => version !== null)).toEqual([1])
    expect(await settings.versions(KEY, 10)).toHaveLength(1)
  })

  test('changes of different settings at once are all stored, each at its own position', async () => {
    const { settings } = await begin()
    const names = ['a', 'b', 'c', 'd', 'e']
    await Promise.all(names.map(name => settings.add({ ...KEY, name }, 0, publish('{}'))))
    const changes = await settings.changes(ORG, Number.MAX_SAFE_INTEGER, 10)
    expect(changes.map(({ seq }) => seq)).toEqual([5, 4, 3, 2, 1])
    expect(changes.map(({ name }) => name).toSorted()).toEqual(names)
    expect(await settings.changes(ORG, 3, 1)).toMatchObject([{ seq: 2 }])
  })

  test('erases replaced secrets and keeps the record of their changes', async () => {
    const { settings } = await begin()
    const key = { ...KEY, kind: 'provider_key', name: 'openai' }
    const secret = (sealed: string) => ({ ...publish(''), content: null, sealed, change: 'set_secret' })
    await settings.add(key, 0, secret('one'))
    await settings.add(key, 1, secret('two'))
    await settings.forgetSecrets(key, 2)
    expect((await settings.versions(key, 10)).map(({ change, sealed }) => [change, sealed])).toEqual([
      ['set_secret', 'two'],
      ['set_secret', null],
    ])
  })

  test('settings of another organisation are not found', async () => {
    const { settings } = await begin()
    await settings.add(KEY, 0, publish('{}'))
    const other = { ...KEY, org_id: 'org_2' }
    expect(await settings.seq('org_2')).toBe(0)
    expect(await settings.heads('org_2')).toEqual([])
    expect(await settings.versions(other, 10)).toEqual([])
    expect(await settings.version(other, 1)).toBeNull()
    expect(await settings.changes('org_2', 100, 10)).toEqual([])
  })

  test('a session is pinned to the version of its agent once', async () => {
    const { settings } = await begin()
    expect(await settings.pinnedAgent(ORG, 's1')).toBeNull()
    await settings.pinAgent(ORG, 's1', 'engineer', 3)
    await settings.pinAgent(ORG, 's1', 'engineer', 4)
    await settings.pinAgent(ORG, 's2', 'engineer', 3)
    await settings.pinAgent(ORG, 's3', 'other', 1)
    expect(await settings.pinnedAgent(ORG, 's1')).toEqual({ agent: 'engineer', version: 3 })
    expect(await settings.pinnedAgent('org_2', 's1')).toBeNull()
    expect(await settings.agentSessions(ORG, 'engineer')).toEqual([{ version: 3, sessions: 2 }])
  })
}
