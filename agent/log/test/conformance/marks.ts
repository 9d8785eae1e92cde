/** Marks of one person, and the keys and subscriptions of Web Push. */
import { expect, test } from 'vitest'
import type { MarkOwner } from '@cairn/log'
import type { Bench } from './bench.ts'

const ORG = 'org_1'
const ANN: MarkOwner = { org_id: ORG, user_id: 'ann' }
const PIN = { kind: 'pin', about: 's1', content: '{}' } as const

export function defineMarks({ open }: Bench): void {
  async function begin() {
    const opened = await open()
    await opened.store.accounts.ensureFirstAdmin(
      { id: ORG, name: 'Org' },
      { id: 'ann', email: 'ann@example.org', name: 'Ann' },
    )
    return { ...opened, marks: opened.store.marks, push: opened.store.push }
  }

  test('a mark belongs to one person, is replaced, and is removed once', async () => {
    const { marks, clock } = await begin()
    expect(await marks.put(ANN, PIN, 5)).toBe(true)
    expect(await marks.list(ANN, 'pin')).toEqual([{ ...PIN, changed_at: clock.now() }])
    for (const other of [
      { ...ANN, user_id: 'bob' },
      { ...ANN, org_id: 'org_2' },
    ])
      expect(await marks.list(other, 'pin')).toEqual([])
    expect(await marks.list(ANN, 'view')).toEqual([])
    clock.advance(1000)
    await marks.put(ANN, { ...PIN, about: 's2' }, 5)
    clock.advance(1000)
    await marks.put(ANN, { ...PIN, content: '{"at":1}' }, 5)
    expect((await marks.list(ANN, 'pin')).map(({ about, content }) => [about, content])).toEqual([
      ['s1', '{"at":1}'],
      ['s2', '{}'],
    ])
    expect(await marks.remove({ ...ANN, user_id: 'bob' }, 'pin', 's1')).toBe(false)
    expect(await marks.remove(ANN, 'pin', 's1')).toBe(true)
    expect(await marks.remove(ANN, 'pin', 's1')).toBe(false)
  })

  test('the limit of a kind refuses a new mark and never a change', async () => {
    const { marks } = await begin()
    for (const about of ['s1', 's2']) expect(await marks.put(ANN, { ...PIN, about }, 2)).toBe(true)
    expect(await marks.put(ANN, { ...PIN, about: 's3' }, 2)).toBe(false)
    expect(await marks.put(ANN, PIN, 2)).toBe(true)
    expect(await marks.put(ANN, { ...PIN, kind: 'view' }, 2)).toBe(true)
  })

  test('pruning deletes marks on items that are not open, and no others', async () => {
    const { marks } = await begin()
    await marks.put(ANN, PIN, 5)
    await marks.put(ANN, { kind: 'item', about: 'gone', content: '{}' }, 5)
    await marks.pruneItems(ANN)
    expect(await marks.list(ANN, 'item')).toEqual([])
    expect(await marks.list(ANN, 'pin')).toHaveLength(1)
  })

  test('the first push key is kept; replacing it ends the subscriptions that are bound to it', async () => {
    const { push } = await begin()
    expect(await push.key(ORG)).toBeNull()
    await push.addKey(ORG, { public_key: 'one', sealed: 's1' })
    await push.addKey(ORG, { public_key: 'two', sealed: 's2' })
    expect(await push.key(ORG)).toEqual({ public_key: 'one', sealed: 's1' })
    expect(await push.subscribe('ann', { id: 'phone', sealed: 'a' }, 2)).toBe(true)
    expect(await push.subscribe('ann', { id: 'desk', sealed: 'b' }, 2)).toBe(true)
    expect(await push.subscribe('ann', { id: 'third', sealed: 'c' }, 2)).toBe(false)
    expect(await push.subscribe('ann', { id: 'phone', sealed: 'a2' }, 2)).toBe(true)
    expect((await push.subscriptions('ann')).map(({ sealed }) => sealed).toSorted()).toEqual(['a2', 'b'])
    expect(await push.unsubscribe('bob', 'desk')).toBe(false)
    expect(await push.unsubscribe('ann', 'desk')).toBe(true)
    await push.replaceKey(ORG, 'stale', { public_key: 'three', sealed: 's3' })
    expect(await push.subscriptions('ann')).toHaveLength(1)
    await push.replaceKey(ORG, 'one', { public_key: 'three', sealed: 's3' })
    expect(await push.key(ORG)).toEqual({ public_key: 'three', sealed: 's3' })
    expect(await push.subscriptions('ann')).toEqual([])
  })
}
