/** Checks the rows of tasks against their owners' logs. */
import type { EventData, EventType } from '@cairn/protocol'
import type { Resource, ResourceCheck } from '../../engine/resource.ts'
import type { StoredLink } from '../links/link.ts'
import { isTaskOver, type StoredTask, type TaskState } from './row.ts'

type EventRef = { session: string; id: number }
/** The last event of each kind, by task. */
type TaskEvents = {
  begun: Map<string, EventRef & { attempt: number; worker: string }>
  over: Map<string, EventRef & { as: 'done' | 'failed' }>
  blocked: Map<string, EventRef & { call: string }>
}
type Data = Readonly<Record<string, unknown>>

export const taskCheck: NonNullable<Resource<never, object>['check']> = {
  rows: { tasks: `SELECT * FROM tasks`, links: `SELECT * FROM links` },
  create(): ResourceCheck {
    const told: TaskEvents = { begun: new Map(), over: new Map(), blocked: new Map() }
    return {
      see: (session, id, type, data) => noteTask(told, { session, id }, type, data),
      problems: ({ tasks = [], links = [] }) =>
        checkTasks({ tasks: tasks as StoredTask[], links: links as StoredLink[] }, told),
    }
  },
}

function noteTask(tasks: TaskEvents, told: EventRef, type: EventType, data: Data): void {
  if (type === 'task.failed') tasks.over.set(String(data['task_id']), { ...told, as: 'failed' })
  else if (type === 'task.blocked') {
    const { task_id, block_call_id } = data as EventData<'task.blocked'>
    tasks.blocked.set(task_id, { ...told, call: block_call_id })
  } else if (typeof data['task_id'] !== 'string') return
  else if (type === 'worker.spawned')
    tasks.begun.set(data['task_id'], {
      ...told,
      attempt: Number(data['attempt']),
      worker: String(data['worker_id']),
    })
  else if (type === 'worker.complete') tasks.over.set(data['task_id'], { ...told, as: 'done' })
}

function checkTasks(
  { tasks, links }: { tasks: readonly StoredTask[]; links: readonly StoredLink[] },
  told: TaskEvents,
): string[] {
  const found: string[] = []
  const open = new Set(links.flatMap(({ child_id, status }) => (status === 'open' ? [child_id] : [])))
  for (const task of tasks)
    found.push(...checkTask(task, told, open).map(what => `task ${task.task_id}: ${what}`))
  const rows = new Map(tasks.map(task => [task.task_id, task]))
  for (const [what, events] of [
    ['begins', told.begun],
    ['ends', told.over],
    ['blocks', told.blocked],
  ] as const)
    for (const [task, { session, id }] of events)
      if (rows.get(task)?.owner_id !== session)
        found.push(
          `session ${session}: event ${id} ${what} task ${task}, but that session has no row of the task`,
        )
  return found
}

function checkTask(task: StoredTask, told: TaskEvents, open: ReadonlySet<string>): string[] {
  const { task_id, owner_id, status, attempt_count } = task
  const found: string[] = []
  const over = told.over.get(task_id)
  const begun = told.begun.get(task_id)
  const state = JSON.parse(task.state) as TaskState
  const should = (what: string, place: EventRef): void =>
    void found.push(`it is ${status}, event ${place.id} of ${owner_id} says that it should be ${what}`)
  if (over !== undefined && over.as !== status) should(over.as, over)
  if (over === undefined && (status === 'done' || status === 'failed'))
    found.push(`it is ${status}, but the log of ${owner_id} has no such event`)
  if (attempt_count !== (begun?.attempt ?? 0))
    found.push(
      `attempt_count is ${attempt_count}, the log of ${owner_id} has ${begun?.attempt ?? 0} attempts`,
    )
  const isAtWork = begun !== undefined && open.has(begun.worker)
  if (isAtWork && (status === 'todo' || isTaskOver(task)))
    should(`running: worker ${begun.worker} is open`, begun)
  if ((status === 'running' || status === 'blocked') && !isAtWork)
    found.push(`it is ${status}, but its worker is not open`)
  if (begun !== undefined && status !== 'todo' && state.worker_id !== begun.worker)
    found.push(`its worker is ${state.worker_id}, event ${begun.id} of ${owner_id} says ${begun.worker}`)
  if (status === 'blocked' && told.blocked.get(task_id)?.call !== state.block_call_id)
    found.push(`it is blocked by call ${state.block_call_id}, but the log of ${owner_id} has no such event`)
  return found
}
