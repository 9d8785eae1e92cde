/** Checks the rows of tasks against their owners' logs. */
import type { EventData, EventType } from '@cairn/protocol'
import type { Resource, ResourceCheck } from '../../engine/resource.ts'
import type { StoredLink } from '../links/link.ts'
import { isTaskOver, type StoredTask, type TaskState } from './row.ts'

type EventRef = { session: string; id: number }
/** The last event of each kind, by task. */
type TaskEvents = {
  started: Map<string, EventRef & { attempt: number; worker: string }>
  over: Map<string, EventRef & { as: 'done' | 'failed' }>
  blocked: Map<string, EventRef & { call: string }>
}
type Data = Readonly<Record<string, unknown>>

export const taskCheck: NonNullable<Resource<never, object>['check']> = {
  rows: { tasks: `SELECT * FROM tasks`, links: `SELECT * FROM links` },
  create(): ResourceCheck {
    const events: TaskEvents = { started: new Map(), over: new Map(), blocked: new Map() }
    return {
      see: (session, id, type, data) => noteTask(events, { session, id }, type, data),
      problems: ({ tasks = [], links = [] }) =>
        checkTasks({ tasks: tasks as StoredTask[], links: links as StoredLink[] }, events),
    }
  },
}

function noteTask(tasks: TaskEvents, event: EventRef, type: EventType, data: Data): void {
  if (type === 'task.failed') tasks.over.set(String(data['task_id']), { ...event, as: 'failed' })
  else if (type === 'task.blocked') {
    const { task_id, block_call_id } = data as EventData<'task.blocked'>
    tasks.blocked.set(task_id, { ...event, call: block_call_id })
  } else if (typeof data['task_id'] !== 'string') return
  else if (type === 'worker.spawned')
    tasks.started.set(data['task_id'], {
      ...event,
      attempt: Number(data['attempt']),
      worker: String(data['worker_id']),
    })
  else if (type === 'worker.complete') tasks.over.set(data['task_id'], { ...event, as: 'done' })
}

function checkTasks(
  { tasks, links }: { tasks: readonly StoredTask[]; links: readonly StoredLink[] },
  seen: TaskEvents,
): string[] {
  const found: string[] = []
  const open = new Set(links.flatMap(({ child_id, status }) => (status === 'open' ? [child_id] : [])))
  for (const task of tasks)
    found.push(...checkTask(task, seen, open).map(what => `task ${task.task_id}: ${what}`))
  const rows = new Map(tasks.map(task => [task.task_id, task]))
  for (const [what, events] of [
    ['begins', seen.started],
    ['ends', seen.over],
    ['blocks', seen.blocked],
  ] as const)
    for (const [task, { session, id }] of events)
      if (rows.get(task)?.owner_id !== session)
        found.push(
          `session ${session}: event ${id} ${what} task ${task}, but that session has no row of the task`,
        )
  return found
}

function checkTask(task: StoredTask, seen: TaskEvents, open: ReadonlySet<string>): string[] {
  const { task_id, owner_id, status, attempt_count } = task
  const found: string[] = []
  const over = seen.over.get(task_id)
  const started = seen.started.get(task_id)
  const state = JSON.parse(task.state) as TaskState
  const should = (what: string, place: EventRef): void =>
    void found.push(`it is ${status}, event ${place.id} of ${owner_id} says that it should be ${what}`)
  if (over !== undefined && over.as !== status) should(over.as, over)
  if (over === undefined && (status === 'done' || status === 'failed'))
    found.push(`it is ${status}, but the log of ${owner_id} has no such event`)
  if (attempt_count !== (started?.attempt ?? 0))
    found.push(
      `attempt_count is ${attempt_count}, the log of ${owner_id} has ${started?.attempt ?? 0} attempts`,
    )
  const isAtWork = started !== undefined && open.has(started.worker)
  if (isAtWork && (status === 'todo' || isTaskOver(task)))
    should(`running: worker ${started.worker} is open`, started)
  if ((status === 'running' || status === 'blocked') && !isAtWork)
    found.push(`it is ${status}, but its worker is not open`)
  if (started !== undefined && status !== 'todo' && state.worker_id !== started.worker)
    found.push(`its worker is ${state.worker_id}, event ${started.id} of ${owner_id} says ${started.worker}`)
  if (status === 'blocked' && seen.blocked.get(task_id)?.call !== state.block_call_id)
    found.push(`it is blocked by call ${state.block_call_id}, but the log of ${owner_id} has no such event`)
  return found
}
