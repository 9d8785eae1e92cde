/** The cards of tasks and of the board, from logs as a session with tasks writes them. */
import type { EventType, ReadData, SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { emptySessionView, foldSessionView, type SessionView } from './session-view.ts'

type Entry = { [T in EventType]: [T, ReadData<T>] }[EventType]
const fold = (...entries: Entry[]): SessionView =>
  foldSessionView(
    emptySessionView,
    entries.map(
      ([type, data], index) =>
        ({
          id: index + 1,
          session_id: 's',
          type,
          created_at: '2026-01-01T00:00:00.000Z',
          data,
        }) as SessionEvent,
    ),
  )
const tasksOf = ({ items }: SessionView) => items.flatMap(item => (item.kind === 'task' ? [item] : []))
const linesOf = ({ items }: SessionView): string[] =>
  items.flatMap(item => (item.kind === 'notice' ? [`${item.level}: ${item.text}`] : []))
const standing = (view: SessionView) =>
  tasksOf(view).map(({ goal, status, reason }) => [goal, status, reason])

const at = { turn_id: 't', iteration_index: 0 }
const numbers = {
  duration_seconds: 4,
  iterations: 2,
  input_tokens: 10,
  output_tokens: 5,
  cost_usd: 0.1,
  files_written: [],
}
const asked = (name: string, id: string, args: Record<string, unknown>): Entry => [
  'tool.call',
  { name, tool_call_id: `call-${id}`, arguments: args, ...at },
]
const told = (name: string, id: string, result: object): Entry => [
  'tool.result',
  { name, tool_call_id: `call-${id}`, content: JSON.stringify(result), elapsed_ms: 1, ...at },
]
/** As spawn_task leaves it: the call, the worker if one starts at once, and the result. */
const spawn = (id: string, goal: string, more: { after?: string[]; max_attempts?: number } = {}): Entry[] => [
  asked('spawn_task', id, { goal, ...more }),
  ...(more.after === undefined ? [begun(id, goal, 1)] : []),
  told('spawn_task', id, { task_id: id, status: more.after === undefined ? 'running' : 'todo' }),
]
const begun = (id: string, goal: string, attempt: number): Entry => [
  'worker.spawned',
  {
    worker_id: `${id}-${attempt}`,
    goal,
    task_id: id,
    attempt,
    kind: 'task',
    agent: 'assistant',
    depth: 1,
    tool_call_id: `call-${id}`,
  },
]
type Failed = ReadData<'worker.failed'>
const failed = (id: string, attempt: number, more: Partial<Failed> = {}): Entry => [
  'worker.failed',
  {
    worker_id: `${id}-${attempt}`,
    task_id: id,
    attempt,
    error: 'it rains',
    cause: 'error',
    ...numbers,
    ...more,
  },
]
const done = (id: string, attempt: number): Entry => [
  'worker.complete',
  { worker_id: `${id}-${attempt}`, task_id: id, attempt, result: `${id} stands`, ...numbers },
]
const blocked = (id: string): Entry => [
  'task.blocked',
  { task_id: id, worker_id: `${id}-1`, reason: 'How deep?', block_call_id: 'b' },
]
const HOUSE = [...spawn('ground', 'lay the ground'), ...spawn('walls', 'raise them', { after: ['ground'] })]

test('a task is one card with its attempts, at its creation, and shows what it waits for', () => {
  const waiting = fold(...HOUSE)
  expect(tasksOf(waiting)).toMatchObject([
    {
      task_id: 'ground',
      status: 'running',
      max_attempts: 3,
      attempts: [{ worker_id: 'ground-1', number: 1 }],
    },
    {
      task_id: 'walls',
      status: 'todo',
      after: [{ task_id: 'ground', goal: 'lay the ground' }],
      attempts: [],
      agent: null,
    },
  ])
  const view = fold(
    ...HOUSE,
    done('ground', 1),
    begun('walls', 'raise them', 1),
    failed('walls', 1, { will_retry: true }),
    begun('walls', 'raise them', 2),
    done('walls', 2),
  )
  expect(tasksOf(view)).toMatchObject([
    { task_id: 'ground', status: 'done' },
    {
      task_id: 'walls',
      status: 'done',
      agent: 'assistant',
      attempts: [
        { number: 1, outcome: { cause: 'error', text: 'it rains' } },
        { number: 2, outcome: { cause: null, text: 'walls stands', tokens: 15 } },
      ],
    },
  ])
  // The card alone reports the failed attempt, and no worker has its own card.
  expect(linesOf(view)).toEqual(['info: Task done: lay the ground', 'info: Task done: raise them'])
  expect(view.items.some(item => item.kind === 'worker')).toBe(false)
})

test('a task between two attempts is shown as todo', () => {
  expect(standing(fold(...spawn('a', 'try it'), failed('a', 1, { will_retry: true })))).toEqual([
    ['try it', 'todo', null],
  ])
})

test('a blocked task shows its reason until it is answered or its worker reports again', () => {
  const before = [...spawn('ground', 'lay the ground'), blocked('ground')]
  const held = fold(...before)
  expect(standing(held)).toEqual([['lay the ground', 'blocked', 'How deep?']])
  expect(linesOf(held)).toEqual(['warning: Task blocked: lay the ground'])
  const answer = { task_id: 'ground', status: 'running' }
  expect(standing(fold(...before, told('unblock_task', 'u', answer)))).toEqual([
    ['lay the ground', 'running', null],
  ])
  expect(standing(fold(...before, told('unblock_task', 'u', { error: 'was first' })))).toEqual([
    ['lay the ground', 'blocked', 'How deep?'],
  ])
  expect(standing(fold(...before, done('ground', 1)))).toEqual([['lay the ground', 'done', null]])
})

test('a failed task cancels the tasks that depend on it', () => {
  const view = fold(...HOUSE, failed('ground', 1), [
    'task.failed',
    { task_id: 'ground', attempt_count: 1, error: 'it rains', cancelled_tasks: ['walls'] },
  ])
  expect(standing(view)).toEqual([
    ['lay the ground', 'failed', 'it rains'],
    ['raise them', 'cancelled', 'A task that it depends on failed.'],
  ])
  expect(linesOf(view)).toEqual(['error: Task failed after 1 attempt: lay the ground'])
})

test('a task cancelled by any cause, and its dependents, are shown as cancelled', () => {
  const byWorker = fold(...HOUSE, failed('ground', 1, { cause: 'cancelled', cancelled_tasks: ['walls'] }))
  const byTool = fold(
    ...HOUSE,
    told('cancel_task', 'c', { task_id: 'ground', cancelled: ['ground', 'walls'] }),
  )
  const byPerson = fold(...HOUSE, [
    'user.message',
    {
      content: '[Cancelled] …',
      synthetic: 'task_cancelled',
      metadata: { cancelled_tasks: ['ground', 'walls'] },
    },
  ])
  const byTheEnd = fold(...HOUSE, failed('ground', 1, { cause: 'parent' }))
  for (const view of [byWorker, byTool, byPerson, byTheEnd])
    expect(tasksOf(view).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
  expect(linesOf(byWorker)).toEqual(['info: Task cancelled: lay the ground'])
})

test('events of a task that the log did not create add a line and no card', () => {
  const view = fold(
    blocked('x'),
    ['task.failed', { task_id: 'x', attempt_count: 2, error: 'no', cancelled_tasks: [] }],
    done('x', 1),
  )
  expect(tasksOf(view)).toEqual([])
  expect(linesOf(view)).toEqual([
    'warning: Task blocked: How deep?',
    'error: Task failed after 2 attempts: no',
  ])
})

test('shared and received notes are items at the position of their event', () => {
  const note = { id: 'n1', type: 'FACT' as const, content: 'The ford is shallow.' }
  const view = fold(
    ['board.note', { group_id: 's', notes: [note] }],
    [
      'board.update',
      { group_id: 's', kind: 'delta', cursor_from: 1, cursor_to: 2, content: '[n2 w3f2 FACT] x' },
    ],
  )
  expect(view.items).toMatchObject([
    { kind: 'board', event_id: 1, way: 'shared', notes: [note] },
    { kind: 'board', event_id: 2, way: 'read', update: 'delta', content: '[n2 w3f2 FACT] x' },
  ])
})
