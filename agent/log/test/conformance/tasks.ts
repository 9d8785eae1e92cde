/** Tasks: rows that change in the commits of their attempts. */
import { expect, test } from 'vitest'
import type { NewTask, RowChange, TaskChange } from '@cairn/log'
import { type Bench, openRoot } from './bench.ts'
import { newSession, readAll, refused } from './fixture.ts'

const task = (task_id: string, more: Partial<NewTask> = {}): NewTask => ({
  task_id,
  owner_id: 'root',
  root_id: 'root',
  goal: `reach ${task_id}`,
  plan: { agent: 'assistant' },
  after: [],
  max_attempts: 3,
  status: 'todo',
  attempt_count: 0,
  state: {},
  ...more,
})
const add = (task_id: string, more?: Partial<NewTask>): RowChange => ({
  do: 'task.add',
  task: task(task_id, more),
})
type Move = Extract<TaskChange, { do: 'task.move' }>
const move = (task_id: string, from: Move['from'], to: Move['to'], more: Partial<Move> = {}): RowChange => ({
  do: 'task.move',
  task_id,
  root_id: 'root',
  from,
  to,
  ...more,
})

export function defineTasks(bench: Bench): void {
  test('a task has its initial values, and stores the values of each move', async () => {
    const { store, clock, act } = await openRoot(bench)
    const begun = clock.now()
    await act(add('first', { status: 'running', attempt_count: 1, state: { worker_id: 'w1' } }))
    clock.advance(1000)
    await act(add('second', { after: ['first'] }))
    expect(await store.tasks.list('root')).toEqual([
      {
        ...task('first', { status: 'running', attempt_count: 1, state: { worker_id: 'w1' } }),
        created_at: begun,
        started_at: begun,
        ended_at: null,
      },
      { ...task('second', { after: ['first'] }), created_at: begun + 1000, started_at: null, ended_at: null },
    ])
    const failed = [{ worker_id: 'w1', error: 'no' }]
    await act(move('first', ['running'], 'running', { attempt_count: 2, state: { worker_id: 'w2', failed } }))
    clock.advance(1000)
    await act(move('first', ['running'], 'done', { state: { result: 'there it is' } }))
    await act(move('second', ['todo'], 'running', { attempt_count: 1 }))
    expect(await store.tasks.get('first')).toMatchObject({
      status: 'done',
      attempt_count: 2,
      state: { worker_id: 'w2', failed, result: 'there it is' },
      started_at: begun,
      ended_at: begun + 2000,
    })
    expect(await store.tasks.get('second')).toMatchObject({
      started_at: begun + 2000,
      ended_at: null,
    })
    expect(await store.tasks.get('none')).toBeNull()
    expect(await store.tasks.list('other')).toEqual([])
  })

  /** Promise 1.3: Of two concurrent transitions of a task, each store commits exactly one. */
  test('the first of two moves from one state is made, and the other writes nothing', async () => {
    const { store, act } = await openRoot(bench)
    await act(add('one', { status: 'running', attempt_count: 1 }))
    const moves = await Promise.allSettled([
      act(move('one', ['running'], 'done')),
      act(move('one', ['running'], 'cancelled')),
    ])
    expect(moves.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(moves[1]).toMatchObject({ reason: { refusal: 'task_moved' } })
    expect((await store.tasks.get('one'))?.status).toBe('done')
    expect(await readAll(store, 'root')).toHaveLength(2)
    await refused(
      store,
      { session_id: 'root', events: [], rows: [move('none', ['todo'], 'running')] },
      'task_moved',
    )
  })

  test('a task is added once, and a rejected commit adds none', async () => {
    const { store, act } = await openRoot(bench)
    await act(add('one'))
    await refused(store, { session_id: 'root', events: [], rows: [add('one')] }, 'exists')
    await refused(
      store,
      { session_id: 'root', events: [], rows: [add('two'), move('one', ['running'], 'done')] },
      'task_moved',
    )
    expect((await store.tasks.list('root')).map(({ task_id }) => task_id)).toEqual(['one'])
  })

  test('a decision on the tasks of a tree is rejected if one was added or moved since', async () => {
    const { store, act } = await openRoot(bench)
    await act(add('one'))
    for (const change of [add('two'), move('one', ['todo'], 'cancelled')]) {
      const { version } = await store.links.tree('root')
      await act(change)
      await refused(
        store,
        { session_id: 'root', events: [], rows: [{ do: 'tree.expect', root_id: 'root', version }] },
        'tree_moved',
      )
    }
  })

  test('a secret in a goal, a plan or a result is redacted in every row', async () => {
    const { store, act } = await openRoot(bench)
    const secret = `sk-ant-api03-${'a1B2'.repeat(8)}`
    await act(add('one', { goal: `use ${secret}`, plan: { context: secret } }))
    await act(move('one', ['todo'], 'done', { state: { result: `it was ${secret}` } }))
    const found = await store.tasks.get('one')
    expect(JSON.stringify(found)).not.toContain(secret)
    expect(found?.goal).toContain('[REDACTED]')
    expect(found?.state.result).toContain('[REDACTED]')
  })

  test('links.countSince counts the children of a tree after a given time', async () => {
    const { store, clock } = await openRoot(bench)
    const { id: _, ...child } = newSession('any', { parent_id: 'root' })
    const spawn = (child_id: string) =>
      store.commit({
        session_id: 'root',
        events: [],
        rows: [
          {
            do: 'link.open',
            link: {
              child_id,
              parent_id: 'root',
              root_id: 'root',
              depth: 1,
              kind: 'task',
              tool_call_id: 'call_1',
              task_id: 'one',
              attempt: 1,
            },
            max_open: 8,
            max_total: 50,
          },
        ],
        also: [{ session_id: child_id, create: child, events: [] }],
      })
    await spawn('a')
    clock.advance(1000)
    await spawn('b')
    expect(await store.links.get('b')).toMatchObject({ kind: 'task', task_id: 'one', attempt: 1 })
    expect(await store.links.countSince('root', clock.now() - 1000)).toBe(1)
    expect(await store.links.countSince('root', clock.now() - 1001)).toBe(2)
    expect(await store.links.countSince('other', 0)).toBe(0)
  })
}
