/**
 * Links, tasks and timers that were changed behind the store's back: each one is found by name, with the
 * correct value.
 */
import { expect, test } from 'vitest'
import type { LinkedCommit, LogStore, NewTask, RowChange } from '@cairn/log'
import type { Bench } from './bench.ts'
import { complete, newSession, outcome, say, spawned } from './fixture.ts'

const USED = { input_tokens: 10, output_tokens: 5, cost_usd: 0.25 }
const { id: _, ...CHILD } = newSession('any', { parent_id: 'root' })
const made = (session_id: string): LinkedCommit => ({ session_id, create: CHILD, events: [say('begin')] })

type Tie = {
  kind?: 'worker' | 'delegation' | 'task'
  tool_call_id: string
  task_id?: string
  attempt?: number
}
const open = (child_id: string, { kind = 'worker', ...more }: Tie): RowChange => ({
  do: 'link.open',
  link: {
    child_id,
    parent_id: 'root',
    root_id: 'root',
    depth: 1,
    kind,
    task_id: null,
    attempt: null,
    ...more,
  },
  max_open: 8,
  max_total: 50,
})
const spawn = (store: LogStore, child: string, tie: Tie, rows: RowChange[] = []) =>
  store.commit({
    session_id: 'root',
    events: [spawned(child, tie)],
    rows: [open(child, tie), ...rows],
    also: [made(child)],
  })
const end = (store: LogStore, child: string, task_id?: string) =>
  store.commit({
    session_id: child,
    events: [complete()],
    cursor: 'self',
    rows: [
      { do: 'link.settle', child_id: child, root_id: 'root', status: 'complete', cause: null, ...USED },
      ...(task_id === undefined ? [] : [moved(task_id)]),
    ],
    also: [
      {
        session_id: 'root',
        events: [outcome(child, { ...USED, ...(task_id === undefined ? {} : { task_id }) })],
      },
    ],
  })
const moved = (task_id: string): RowChange => ({
  do: 'task.move',
  task_id,
  root_id: 'root',
  from: ['running'],
  to: 'done',
})
const task = (task_id: string, worker_id: string): NewTask => ({
  task_id,
  owner_id: 'root',
  root_id: 'root',
  goal: task_id,
  plan: {},
  after: [],
  max_attempts: 3,
  status: 'running',
  attempt_count: 1,
  state: { worker_id },
})
const timer = (id: string, kind: 'stale' | 'delegation', data: Record<string, unknown>): RowChange => ({
  do: 'timer.set',
  id,
  kind,
  session_id: 'root',
  after_ms: 60_000,
  data,
})

/** An active and a finished worker, a delegation, an active and a finished task. */
async function makeFamily(store: LogStore): Promise<void> {
  await store.sessions.create(newSession('root'))
  await spawn(store, 'busy', { tool_call_id: 'c1' })
  await spawn(store, 'done', { tool_call_id: 'c2' })
  await end(store, 'done')
  await spawn(store, 'silent', { tool_call_id: 'c3', kind: 'delegation' }, [
    timer('stale:silent', 'stale', { child_id: 'silent' }),
    timer('delegation:root:c3', 'delegation', { tool_call_id: 'c3' }),
  ])
  for (const [id, worker] of [
    ['going', 'on-it'],
    ['over', 'was-on-it'],
  ] as const) {
    const tie = { tool_call_id: id, kind: 'task', task_id: id, attempt: 1 } as const
    await spawn(store, worker, tie, [{ do: 'task.add', task: task(id, worker) }])
  }
  await end(store, 'was-on-it', 'over')
}

const DAMAGE: readonly (readonly [damage: string, found: string[]])[] = [
  [
    "UPDATE links SET status = 'open', settled_at = NULL WHERE child_id = 'done'",
    ['link of done: it is open, its outcome (event 3 of root) says that it should be complete'],
  ],
  [
    "UPDATE links SET status = 'failed', cause = 'error' WHERE child_id = 'busy'",
    ['link of busy: it is failed, but the log of root has no outcome: it should be open'],
  ],
  [
    "UPDATE links SET output_tokens = 7 WHERE child_id = 'done'",
    ['link of done: output_tokens is 7, its outcome (event 3 of root) says 5'],
  ],
  [
    "UPDATE links SET depth = 2, reserved_tokens = 9 WHERE child_id = 'busy'",
    [
      'link of busy: depth is 2, its worker.spawned (event 1 of root) says 1',
      'link of busy: reserved_tokens is 9, its worker.spawned (event 1 of root) says 0',
    ],
  ],
  [
    "UPDATE links SET parent_id = 'done' WHERE child_id = 'busy'",
    [
      'link of busy: the log of done does not say that it was spawned; that of root does, which should be ' +
        'its parent',
    ],
  ],
  [
    "DELETE FROM links WHERE child_id = 'done'",
    [
      'session root: event 2 spawns done, which has no link',
      'session root: event 3 is the outcome of done, which has no link',
    ],
  ],
  [
    "UPDATE tasks SET status = 'cancelled' WHERE task_id = 'going'",
    ['task going: it is cancelled, event 5 of root says that it should be running: worker on-it is open'],
  ],
  [
    "UPDATE tasks SET status = 'done', attempt_count = 2 WHERE task_id = 'going'",
    [
      'task going: it is done, but the log of root has no such event',
      'task going: attempt_count is 2, the log of root has 1 attempts',
      'task going: it is done, event 5 of root says that it should be running: worker on-it is open',
    ],
  ],
  [
    "UPDATE tasks SET status = 'running' WHERE task_id = 'over'",
    [
      'task over: it is running, event 7 of root says that it should be done',
      'task over: it is running, but its worker is not open',
    ],
  ],
  [
    "DELETE FROM tasks WHERE task_id = 'going'",
    ['session root: event 5 begins task going, but that session has no row of the task'],
  ],
  [
    "DELETE FROM timers WHERE id = 'delegation:root:c3'",
    ['timer delegation:root:c3 is missing: worker silent would not be stopped at its timeout'],
  ],
  [
    "DELETE FROM timers WHERE id = 'stale:silent'",
    ['timer stale:silent is missing: an idle worker silent would not be reported'],
  ],
  [
    `UPDATE timers SET data = '{"child_id":"done"}' WHERE id = 'stale:silent'`,
    ['timer stale:silent: worker done has ended: the timer should not exist'],
  ],
  [
    "UPDATE timers SET session_id = 'gone' WHERE id = 'stale:silent'",
    ['timer stale:silent: session gone does not exist: the timer should not exist'],
  ],
]

const TABLES = ['links', 'tasks', 'timers']
const keep = TABLES.map(name => `CREATE TABLE kept_${name} AS SELECT * FROM ${name};`).join('\n')
const repair = TABLES.map(
  name => `DELETE FROM ${name}; INSERT INTO ${name} SELECT * FROM kept_${name};`,
).join('\n')

export function defineDamage({ open: openStore, sql }: Bench): void {
  /** Promise 9.3: On each store `cairn doctor` finds links, tasks and timers that contradict the logs. */
  test('a link, task or timer that contradicts the logs is found, with the correct value', async () => {
    const { store, place } = await openStore()
    await makeFamily(store)
    expect(await store.check()).toEqual([])
    await sql(place, keep)
    for (const [damage, found] of DAMAGE) {
      await sql(place, damage)
      expect([damage, await store.check()]).toEqual([damage, found])
      await sql(place, repair)
    }
    expect(await store.check()).toEqual([])
  })
}
