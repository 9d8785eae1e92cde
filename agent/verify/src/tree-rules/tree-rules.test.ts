import { expect, test } from 'vitest'
import { log, type Written } from '../../test/tree-log.ts'
import { checkTree } from './check-tree.ts'
import { checkBoard } from './board.ts'
import { checkTasks } from './tasks.ts'

const spawned: Written = ['worker.spawned', { worker_id: 'child', depth: 1 }]
const done: Written = ['worker.complete', { worker_id: 'child' }]
const end: Written = ['session.complete', { reason: 'completed' }]
const family = (root: Written[], child: Written[]) =>
  checkTree(
    new Map([
      ['root', log(...root)],
      ['child', log(...child)],
    ]),
  )

test('a child that ended and was reported once is sound, and so is an open one', () => {
  expect(family([spawned, done], [end])).toEqual([])
  expect(family([spawned], [])).toEqual([])
})

test.each([
  ['spawned twice', [spawned, spawned, done], [end]],
  ['no session spawned it', [], []],
  ['has 2 outcomes', [spawned, done, done], [end]],
  ['its outcome precedes its spawn', [done, spawned], [end]],
  ['its parent has no outcome', [spawned], [end]],
  ['its parent has an outcome, but it has not ended', [spawned, done], []],
  ['its depth is 2', [['worker.spawned', { worker_id: 'child', depth: 2 }], done], [end]],
  ['but its outcome is of', [spawned, ['worker.complete', { worker_id: 'child', at: 'later' }]], [end]],
  ['its outcome is worker.complete', [spawned, done], [['session.fail', {}]]],
  ['is worker.failed', [spawned, ['worker.failed', { worker_id: 'child', cause: 'error' }]], [end]],
] as [string, Written[], Written[]][])('reports: %s', (what, root, child) => {
  expect(family(root, child).join()).toContain(what)
})

const make = (task_id: string, ...after: string[]): Written[] => [
  ['tool.call', { name: 'spawn_task', tool_call_id: `make-${task_id}`, arguments: { after } }],
  [
    'tool.result',
    { name: 'spawn_task', tool_call_id: `make-${task_id}`, content: JSON.stringify({ task_id }) },
  ],
]
const attempt = (task_id: string, number = 1): Written => [
  'worker.spawned',
  { worker_id: `${task_id}${number}`, task_id, attempt: number, depth: 1 },
]
const succeeds = (task_id: string, number = 1): Written => [
  'worker.complete',
  { worker_id: `${task_id}${number}`, task_id, attempt: number },
]
const fails = (task_id: string, number: number, will_retry: boolean): Written => [
  'worker.failed',
  { worker_id: `${task_id}${number}`, task_id, attempt: number, cause: 'error', will_retry },
]
const givenUp = (task_id: string, attempt_count: number, ...cancelled_tasks: string[]): Written => [
  'task.failed',
  { task_id, attempt_count, error: 'no', cancelled_tasks },
]
const cancelled = (...ids: string[]): Written => [
  'tool.result',
  { name: 'cancel_task', tool_call_id: 'c', content: JSON.stringify({ cancelled: ids }) },
]

test('tasks that were done in order, retried, given up or cancelled are sound', () => {
  const diamond = [
    ...make('a'),
    attempt('a'),
    ...make('b', 'a'),
    ...make('c', 'a'),
    ...make('d', 'b', 'c'),
    succeeds('a'),
    attempt('b'),
    attempt('c'),
    fails('b', 1, true),
    attempt('b', 2),
    succeeds('c'),
  ]
  expect(checkTasks('root', log(...diamond))).toEqual([])
  const done = [...diamond, succeeds('b', 2), attempt('d'), succeeds('d')]
  expect(checkTasks('root', log(...done))).toEqual([])
  const lost = [...diamond, fails('b', 2, false), givenUp('b', 2, 'd')]
  expect(checkTasks('root', log(...lost))).toEqual([])
  const stopped: Written = [
    'worker.failed',
    { worker_id: 'b2', task_id: 'b', attempt: 2, cause: 'parent', will_retry: false },
  ]
  expect(checkTasks('root', log(...diamond, stopped))).toEqual([])
  const called = [...make('a'), attempt('a'), ...make('b', 'a'), cancelled('b'), succeeds('a')]
  expect(checkTasks('root', log(...called))).toEqual([])
})

test.each([
  ['started before a was done', [...make('a'), attempt('a'), ...make('b', 'a'), attempt('b')]],
  ['has attempt 2 after 0', [...make('a'), attempt('a', 2)]],
  ['no retry was announced', [...make('a'), attempt('a'), fails('a', 1, false), attempt('a', 2)]],
  ['is retried but was done', [...make('a'), attempt('a'), succeeds('a'), attempt('a', 2)]],
  [
    'is done but was already failed',
    [...make('a'), attempt('a'), fails('a', 1, false), givenUp('a', 1), succeeds('a')],
  ],
  [
    'failed after 3 attempts, but 1 failed',
    [...make('a'), attempt('a'), fails('a', 1, false), givenUp('a', 3)],
  ],
  ['but a retry was announced', [...make('a'), attempt('a'), fails('a', 1, true), givenUp('a', 1)]],
  [
    'waits for a task that will never be done',
    [...make('a'), attempt('a'), ...make('b', 'a'), fails('a', 1, false), givenUp('a', 1)],
  ],
  ['is ready, but no worker runs it', [...make('a'), attempt('a'), ...make('b', 'a'), succeeds('a')]],
] as [string, Written[]][])('reports for tasks: %s', (what, events) => {
  expect(checkTasks('root', log(...events)).join()).toContain(what)
})

const update = (kind: string, cursor_from: number | null, cursor_to: number, ...notes: number[]): Written => [
  'board.update',
  {
    kind,
    cursor_from,
    cursor_to,
    content: ['Notes', ...notes.map(seq => `[n${seq} w1 FACT] so`)].join('\n'),
  },
]

test('a board that is read in deltas is sound, also with a snapshot after a compaction', () => {
  const read = log(
    update('snapshot', null, 2, 1, 2),
    update('delta', 2, 3, 3),
    update('snapshot', null, 3, 1, 2, 3),
  )
  expect(checkBoard('root', read)).toEqual([])
})

test.each([
  ['a board update to 2 after one to 3', [update('snapshot', null, 3, 3), update('delta', 3, 2, 2)]],
  ['a delta from 1, but it had read to 2', [update('snapshot', null, 2, 2), update('delta', 1, 3, 3)]],
  ['a snapshot from 2', [update('snapshot', null, 2, 2), update('snapshot', 2, 3, 3)]],
  ['a delta repeats n2', [update('snapshot', null, 2, 2), update('delta', 2, 3, 2, 3)]],
] as [string, Written[]][])('reports for boards: %s', (what, events) => {
  expect(checkBoard('root', log(...events)).join()).toContain(what)
})
