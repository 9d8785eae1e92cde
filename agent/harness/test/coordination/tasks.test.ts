/** Tasks: their order, attempts, blocks, and what ends together. */
import type { Task } from '@cairn/log'
import { AppError, type EventOf, type SessionEvent } from '@cairn/protocol'
import {
  addMessage,
  cancelTask,
  findTask,
  respondInbox,
  stopSession,
  unblockTask,
  viewTask,
} from '@cairn/sessions'
import { checkHistory, checkTree } from '@cairn/verify'
import { expect, test } from 'vitest'
import { alice, call, readLog, say, type Stage, typesOf } from '../turn/stage.ts'
import {
  block,
  BLOCKED,
  treeLogs,
  finishWork,
  goal,
  OUTCOME,
  setTree,
  task,
  taskId,
  wait,
} from './tree-stage.ts'

const ended = (events: readonly SessionEvent[]): boolean => events.at(-1)?.type === 'session.complete'
const tasksOf = (stage: Stage): Promise<Task[]> => stage.store.tasks.list(stage.session_id)
const statuses = async (stage: Stage): Promise<Record<string, string>> =>
  Object.fromEntries((await tasksOf(stage)).map(each => [each.goal, each.status]))
async function expectSound(stage: Stage): Promise<Map<string, SessionEvent[]>> {
  const logs = await treeLogs(stage.store, stage.session_id)
  for (const [id, log] of logs) expect([id, checkHistory(log, { settled: true })]).toEqual([id, []])
  expect(checkTree(logs)).toEqual([])
  expect(await stage.store.check()).toEqual([])
  return logs
}
const told = (log: readonly SessionEvent[] | undefined): string[] =>
  typesOf(log ?? []).filter(type => /^(worker|task)\./.test(type))
const calls = (...given: readonly object[]) => ({ tool_calls: given as never[] })
const NEWS = { user: '^\\[(Worker|Task|Cancelled)' }
const until = async (stage: Stage, taskStatus: Task['status']): Promise<Task> => {
  let found: Task | undefined
  await expect
    .poll(async () => (found = (await tasksOf(stage)).find(({ status }) => status === taskStatus)))
    .toBeDefined()
  return found as Task
}

/** Promise 14.15: Tasks start in dependency order with earlier results, and a failed attempt is retried. */
test('tasks start in dependency order with the earlier results, and a failed attempt is retried', async () => {
  await using stage = await setTree([
    { when: goal('lay'), answer: finishWork('The ground is laid.') },
    { when: { user: 'Goal:\\s+raise[^]*Attempt 1 failed' }, answer: finishWork('The walls stand.') },
    { when: goal('raise'), answer: { error: { status: 400, message: 'it rains' } } },
    { when: goal('dig'), steps: [call('note', 'dug'), finishWork('There is a well.')] },
    {
      when: { user: 'Goal:\\s+roof[^]*The walls stand[^]*There is a well' },
      answer: finishWork('Done.'),
    },
    { when: OUTCOME, answer: say('It is built.') },
    {
      steps: [
        calls(
          task('ground', 'lay the ground'),
          task('walls', 'raise the walls', { after: ['ground'] }),
          task('well', 'dig a well', { after: ['ground'] }),
          task('roof', 'roof it', { after: ['walls', 'well'] }),
          wait,
        ),
      ],
    },
  ])
  await stage.until(ended)
  const logs = await expectSound(stage)
  expect(logs.size).toBe(6)
  expect(await statuses(stage)).toEqual({
    'lay the ground': 'done',
    'raise the walls': 'done',
    'dig a well': 'done',
    'roof it': 'done',
  })
  const log = logs.get(stage.session_id) ?? []
  const retried = log.findIndex(event => event.type === 'worker.failed')
  expect(log[retried]?.data).toMatchObject({ will_retry: true, attempt: 1, cause: 'error' })
  expect(log[retried + 1]).toMatchObject({
    type: 'worker.spawned',
    created_at: log[retried]?.created_at,
    data: { attempt: 2 },
  })
  // The wait ends when all are done, without a message about the failed attempt.
  expect(log.filter(event => event.type === 'llm.response')).toHaveLength(2)
  expect((await tasksOf(stage))[1]).toMatchObject({
    attempt_count: 2,
    state: { failed: [{ error: expect.stringContaining('it rains') }], result: 'The walls stand.' },
  })
})

/** Promise 14.15: A task that fails permanently cancels the tasks that depend on it. */
test('a task whose attempts all fail has failed, and the tasks that depend on it are cancelled', async () => {
  await using stage = await setTree([
    { when: goal('try'), answer: { error: { status: 400, message: 'no' } } },
    { when: NEWS, answer: say('I see.') },
    {
      steps: [
        calls(
          task('first', 'try it', { max_attempts: 2 }),
          task('second', 'then this', { after: ['first'] }),
          task('third', 'and that', { after: ['second'] }),
          wait,
        ),
      ],
    },
  ])
  await stage.until(ended)
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(told(log)).toEqual([
    'worker.spawned',
    'worker.failed',
    'worker.spawned',
    'worker.failed',
    'task.failed',
  ])
  const [first, ...rest] = await tasksOf(stage)
  expect(log.find(event => event.type === 'task.failed')?.data).toMatchObject({
    task_id: first?.task_id,
    attempt_count: 2,
    cancelled_tasks: expect.arrayContaining(rest.map(each => each.task_id)) as unknown,
  })
  expect(await statuses(stage)).toEqual({
    'try it': 'failed',
    'then this': 'cancelled',
    'and that': 'cancelled',
  })
})

const HELD = { when: goal('hold'), steps: [block('Which way?'), finishWork('Held: {{result.answer}}.')] }

/** Promise 14.15: A blocked task occupies no runner and continues with the answer. */
test("a blocked task occupies no runner, and the owner's answer is the result of its call", async () => {
  await using stage = await setTree([
    HELD,
    {
      when: BLOCKED,
      steps: [
        calls({ name: 'unblock_task', arguments: { task_id: '{{user.1}}', answer: 'Left' } }),
        calls(wait),
      ],
    },
    { when: OUTCOME, answer: say('Good.') },
    { steps: [calls(task('held', 'hold on'), wait)] },
  ])
  await stage.until(ended)
  const logs = await expectSound(stage)
  expect(told(logs.get(stage.session_id))).toEqual(['worker.spawned', 'task.blocked', 'worker.complete'])
  expect((await tasksOf(stage))[0]?.state.result).toBe('Held: Left.')
  // One attempt, one context, and no question to a person.
  expect(logs.size).toBe(2)
  expect((await stage.store.inbox.list({ org_id: 'org', limit: 10 })).items).toEqual([])
})

/** The owner leaves the block to people. */
const LEFT = [
  HELD,
  { when: NEWS, answer: say('I leave that to you.') },
  { steps: [calls(task('held', 'hold on')), say('ok')] },
]

/** Promise 14.15: A person is asked about a blocked task when its owner does not answer. */
test('a person is asked when the owner rests with a task blocked, and their note is the answer', async () => {
  await using stage = await setTree(LEFT)
  const { harness } = stage
  const asked = await stage.next('inbox.action_required')
  const { task_id } = await until(stage, 'blocked')
  expect(asked.data).toMatchObject({ action_type: 'task_blocked', target: task_id, reason: 'Which way?' })
  await harness.idle()
  expect(await stage.session()).toMatchObject({ state: 'needs_action', lease: null })
  const { items } = await stage.store.inbox.list({ org_id: 'org', status: ['pending'], limit: 10 })
  expect(items).toHaveLength(1)
  const item = await respondInbox(stage.deps, items[0]?.id ?? '', { completed: true, note: 'Right' }, alice)
  expect(item).toMatchObject({ status: 'responded', decision: 'completed', decided_by_user_id: alice.id })
  await stage.until(events => events.some(event => event.type === 'worker.complete'))
  await stage.until(ended)
  await expectSound(stage)
  expect((await tasksOf(stage))[0]?.state).toMatchObject({
    result: 'Held: Right.',
    decided_by: { kind: 'user', id: alice.id },
  })
})

/** Promise 4.7: The first answer to a blocked task counts, and later ones are refused. */
test('the first answer to a block counts, and later ones are rejected with the name of the first', async () => {
  await using stage = await setTree(LEFT)
  const { harness } = stage
  await stage.next('inbox.action_required')
  await harness.idle()
  const blocked = await until(stage, 'blocked')
  const [item] = (await stage.store.inbox.list({ org_id: 'org', status: ['pending'], limit: 10 })).items
  const answers = await Promise.allSettled([
    unblockTask(stage.deps, blocked, 'North', alice),
    unblockTask(stage.deps, blocked, 'South', alice),
    respondInbox(stage.deps, item?.id ?? '', { completed: true, note: 'East' }, alice),
  ])
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const lost of answers)
    if (lost.status === 'rejected') {
      expect(lost.reason).toBeInstanceOf(AppError)
      expect(lost.reason).toMatchObject({ code: 'already_answered' })
    }
  expect(answers[1]).toMatchObject({
    reason: {
      message: expect.stringContaining(`already decided by user ${alice.id}`),
      extra: { task_status: 'running' },
    },
  })
  expect((await stage.store.inbox.get(item?.id ?? ''))?.status).toBe('expired')
  await stage.until(events => events.some(event => event.type === 'worker.complete'))
  await stage.until(ended)
  expect((await tasksOf(stage))[0]?.state.result).toBe('Held: North.')
  await expectSound(stage)
})

test('a message of a person to the blocked worker unblocks it', async () => {
  await using stage = await setTree([
    { when: { user: 'take the bridge' }, answer: finishWork('I took the bridge.') },
    ...LEFT,
  ])
  const { harness } = stage
  await stage.next('inbox.action_required')
  await harness.idle()
  const { state } = await until(stage, 'blocked')
  await addMessage(stage.deps, {
    session_id: state.worker_id ?? '',
    content: 'take the bridge',
    principal: alice,
  })
  await stage.until(events => events.some(event => event.type === 'worker.complete'))
  await stage.until(ended)
  const logs = await expectSound(stage)
  const result = logs
    .get(state.worker_id ?? '')
    ?.find((event): event is EventOf<'tool.result'> => event.type === 'tool.result')
  expect(result?.data.content).toContain('A person has written to you instead')
  expect((await stage.store.inbox.list({ org_id: 'org', limit: 10 })).items).toMatchObject([
    { status: 'expired', decision: 'unblocked' },
  ])
})

const HANGS = { when: goal('hang'), steps: [call('hang', 'on')] }

test('cancelling a task ends its worker and the tasks that depend on it, without a retry, and informs the owner', async () => {
  await using stage = await setTree(
    [
      HANGS,
      { when: NEWS, answer: say('A pity.') },
      {
        steps: [
          calls(
            task('first', 'hang on'),
            task('second', 'then this', { after: ['first'] }),
            task('third', 'then that', { after: ['first'] }),
          ),
          say('Under way.'),
        ],
      },
    ],
    { limits: { drain_s: 0 } },
  )
  await stage.until(ended)
  await expect.poll(() => stage.ran).toContain('hang:on')
  const [first, second, third] = await tasksOf(stage)
  // A task that has not started has no worker to report the cancellation.
  await cancelTask(stage.deps, second!, 'not needed', alice)
  await stage.until(events => events.filter(({ type }) => type === 'session.complete').length === 2)
  await cancelTask(stage.deps, first!, 'too slow', alice)
  await stage.until(events => events.filter(({ type }) => type === 'session.complete').length === 3)
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(log.filter(event => event.type === 'user.message').at(-1)?.data).toMatchObject({
    synthetic: 'task_cancelled',
    metadata: { cancelled_tasks: [second?.task_id] },
  })
  expect(log.find(event => event.type === 'worker.failed')?.data).toMatchObject({
    cause: 'cancelled',
    task_id: first?.task_id,
    cancelled_tasks: [third?.task_id],
  })
  expect(new Set(Object.values(await statuses(stage)))).toEqual(new Set(['cancelled']))
  await expect(cancelTask(stage.deps, first!, 'again', alice)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining(`already decided by user ${alice.id}`),
  })
})

/** Promise 6.9: Stopping the owner cancels its tasks. */
test('a stop of the owner cancels all its tasks, even those that have not started', async () => {
  await using stage = await setTree(
    [
      HANGS,
      HELD,
      { when: BLOCKED, answer: say('Let us see.') },
      {
        steps: [
          calls(
            task('first', 'hang on'),
            task('second', 'hold on'),
            task('third', 'then this', { after: ['first'] }),
          ),

          say('Under way.'),
        ],
      },
    ],
    { limits: { drain_s: 0 } },
  )
  const { harness } = stage
  await expect.poll(() => stage.ran).toContain('hang:on')
  await stage.next('inbox.action_required')
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(told(log).slice(-2)).toEqual(['worker.failed', 'worker.failed'])
  expect(new Set(Object.values(await statuses(stage)))).toEqual(new Set(['cancelled']))
  expect((await stage.store.inbox.list({ org_id: 'org', status: ['pending'], limit: 10 })).items).toEqual([])
})

/** Promise 14.15: Ready tasks wait for a free worker and are never lost. */
test('with more ready tasks than free workers, each starts when a worker is free', async () => {
  await using stage = await setTree(
    [
      { when: goal('.*'), answer: finishWork('Done.') },
      { when: OUTCOME, answer: say('All of it.') },
      {
        steps: [
          calls(
            task('zero', 'zero'),
            ...['one', 'two', 'three', 'four'].map(each => task(each, each, { after: ['zero'] })),
            wait,
          ),
        ],
      },
    ],
    { agent: { workers: { max_open: 2 } } },
  )
  await stage.until(ended)
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(new Set(Object.values(await statuses(stage)))).toEqual(new Set(['done']))
  let open = 0
  for (const { type } of log) {
    if (type === 'worker.spawned') open += 1
    if (type === 'worker.complete') open -= 1
    expect(open).toBeLessThanOrEqual(2)
  }
})

test('a task fails with the reason when its tree has reached its limit of workers', async () => {
  await using stage = await setTree(
    [
      { when: goal('try'), answer: { error: { status: 400, message: 'no' } } },
      { when: NEWS, answer: say('I see.') },
      { steps: [calls(task('first', 'try it'), wait)] },
    ],
    { agent: { workers: { max_total: 2 } } },
  )
  await stage.until(ended)
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(log.find(event => event.type === 'task.failed')?.data).toMatchObject({
    attempt_count: 2,
    error: expect.stringContaining('The session tree reached its limit of 2 workers per day.'),
  })
})

test('a worker asks one question at a time, and a second in parallel is rejected', async () => {
  await using stage = await setTree([
    {
      when: goal('hold'),
      steps: [
        { tool_calls: ['Which way?', 'And how far?'].map(each => block(each).tool_calls[0]!) },
        finishWork('Held.'),
      ],
    },
    {
      when: BLOCKED,
      steps: [calls({ name: 'unblock_task', arguments: { task_id: taskId('held'), answer: 'Left' } }, wait)],
    },
    { when: OUTCOME, answer: say('Good.') },
    { steps: [calls(task('held', 'hold on'), wait)] },
  ])
  await stage.until(ended)
  const logs = await expectSound(stage)
  const worker = [...logs.values()][1] ?? []
  const results = worker.flatMap(event => (event.type === 'tool.result' ? [event.data.content] : []))
  expect(results[0]).toContain('one question at a time')
  expect(results[1]).toBe(JSON.stringify({ status: 'unblocked', answer: 'Left' }))
})

test('a task of another user is not found', async () => {
  await using stage = await setTree(LEFT)
  const { task_id } = await until(stage, 'blocked')
  await expect(
    findTask(stage.store, { ...alice, id: 'user-bob', name: 'Bob' }, task_id),
  ).rejects.toMatchObject({ code: 'not_found' })
  const found = await findTask(stage.store, alice, task_id)
  expect(await viewTask(stage.store, found)).toMatchObject({
    status: 'blocked',
    blocked_reason: 'Which way?',
  })
})

/** Promise 13.1: An impossible task call returns a clear error and creates nothing. */
test('an impossible task call returns a clear error and creates no task', async () => {
  const bad = [
    task('a', ''),
    task('b', 'x', { after: ['nobody'] }),
    task('c', 'x', { agent: 'nobody' }),
    task('d', 'x', { max_attempts: 9 }),

    { name: 'unblock_task', arguments: { task_id: 'nobody', answer: 'yes' } },
    { name: 'cancel_task', arguments: { task_id: 'nobody', reason: 'no' } },
    { name: 'worker_block', arguments: { reason: 'I am nobody’s worker' } },
    { name: 'wait_for_workers', arguments: { ids: ['nobody'] } },
  ]
  await using stage = await setTree(
    [
      HANGS,
      { when: NEWS, answer: say('I see.') },
      {
        steps: [
          calls(
            ...bad,
            task('first', 'hang on'),
            task('again', 'hang on'),
            { name: 'unblock_task', arguments: { task_id: taskId('first'), answer: 'yes' } },
            task('second', 'then this', { after: ['first'] }),
            task('twice', 'then this', { after: ['first'] }),
            { name: 'cancel_task', arguments: { task_id: taskId('first'), reason: 'enough' } },
            { name: 'cancel_task', arguments: { task_id: taskId('first'), reason: 'enough' } },
            task('late', 'after it', { after: ['first'] }),
          ),

          say('I see.'),
        ],
      },
    ],
    { limits: { drain_s: 0 } },
  )
  await stage.until(ended)
  const results = (await stage.events()).flatMap(event =>
    event.type === 'tool.result' ? [event.data.content] : [],
  )
  const expected = [
    'goal',
    'unknown task',
    'unknown agent',
    'max_attempts',
    'has no task',
    'has no task',
    'unknown tool',
    'no worker or task',
    'running',
    'is already working on this goal',
    'is running and has no pending question',
    'todo',
    'has not started',
    'cancelled',
    'has ended: cancelled',
    'would never start',
  ]
  expect(results.map((content, at) => [at, content.includes(expected[at] ?? '?')])).toEqual(
    expected.map((_, at) => [at, true]),
  )
  // The error about a cycle appears where the model could try one.
  expect(results[1]).toContain('in a cycle')
  expect(Object.keys(await statuses(stage)).toSorted()).toEqual(['hang on', 'then this'])
  expect(
    (await readLog(stage.store, stage.session_id)).filter(({ type }) => type === 'worker.spawned'),
  ).toHaveLength(1)
  await expectSound(stage)
})
