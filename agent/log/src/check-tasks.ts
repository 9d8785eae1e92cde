/** Checks the rows of tasks against their owners' logs. Part of `check-links.ts`. */
import type { StoredLink } from './links.ts'
import { isTaskOver, type StoredTask, type TaskState } from './tasks.ts'

type EventRef = { session: string; id: number }
/** The last event of each kind, by task. */
export type TaskEvents = {
  begun: Map<string, EventRef & { attempt: number; worker: string }>
  over: Map<string, EventRef & { as: 'done' | 'failed' }>
  blocked: Map<string, EventRef & { call: string }>
}

export function checkTasks(
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
