/** Boards: notes in the order of their commits, each written by a writer who had read the last one. */
import { expect, test } from 'vitest'
import type { BoardChange, RowChange } from '@cairn/log'
import { type Bench, openRoot } from './bench.ts'
import { refused } from './fixture.ts'

const note = (content: string, ttl_ms: number | null = null) =>
  ({ type: 'FACT', content, ref: null, ttl_ms }) as const
const add = (last_seq: number, content: string, more: Partial<BoardChange> = {}): RowChange => ({
  do: 'board.add',
  root_id: 'root',
  last_seq,
  writer_id: 'root',
  notes: [note(content)],
  supersede: [],
  renew: [],
  ...more,
})

export function defineBoards(bench: Bench): void {
  test('notes are numbered in commit order, superseded and renewed', async () => {
    const { store, clock, act } = await openRoot(bench)
    expect(await store.board.read('root')).toEqual({ last_seq: 0, notes: [] })
    await act(add(0, 'one', { notes: [note('one'), note('two', 1000)] }))
    await act(add(2, 'three', { supersede: [1], renew: [{ seq: 2, ttl_ms: 5000 }] }))
    const { last_seq, notes } = await store.board.read('root')
    expect(last_seq).toBe(3)
    expect(notes).toMatchObject([
      { seq: 2, content: 'two', expires_at: clock.now() + 5000, status: 'active', writer_id: 'root' },
      { seq: 3, content: 'three', expires_at: null },
    ])
    expect(await store.board.countSince('root', 'root', clock.now() - 1)).toBe(3)
    expect(await store.board.countSince('root', 'root', clock.now())).toBe(0)
    expect(await store.board.countSince('root', 'other', 0)).toBe(0)
    expect((await store.board.read('other')).notes).toEqual([])
    expect(await store.check()).toEqual([])
  })

  /**
   * Promise 14.16: Of two concurrent writers to a board, each store admits only one that has read the other's
   * note.
   */
  test('a writer who has not read the last note is rejected and writes nothing', async () => {
    const { store, act } = await openRoot(bench)
    const both = await Promise.allSettled([act(add(0, 'a')), act(add(0, 'b'))])
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await refused(store, { session_id: 'root', events: [], rows: [add(0, 'late')] }, 'tree_moved')
    expect((await store.board.read('root')).notes.map(({ content }) => content)).toEqual(['a'])
  })

  test('a writer who has not read the renewal of a claim is rejected too', async () => {
    const { store, act } = await openRoot(bench)
    await act(add(0, 'mine', { notes: [note('mine', 1000)] }))
    await act(add(1, '', { notes: [], renew: [{ seq: 1, ttl_ms: 5000 }] }))
    await refused(store, { session_id: 'root', events: [], rows: [add(1, 'late')] }, 'tree_moved')
    const { last_seq, notes } = await store.board.read('root')
    expect([last_seq, notes.map(({ seq }) => seq)]).toEqual([2, [1]])
  })
}
