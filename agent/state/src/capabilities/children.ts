/**
 * The children of a session that matter to its next step, as a fold of its log: the open ones, and the calls
 * that wait for them. A child that ended and has no waiting call is dropped: its outcome is in the
 * conversation and its link in the store.
 */
import type { EventId, EventOf, SessionEvent, WorkerKind } from '@cairn/protocol'

export type Child = {
  readonly worker_id: string
  readonly goal: string
  readonly agent: string
  /** The task that this child is an attempt at. */
  readonly task_id?: string
  readonly kind: WorkerKind
}
export type ChildOutcome =
  | ({ readonly status: 'complete' } & Pick<EventOf<'worker.complete'>['data'], 'result' | 'truncated'>)
  | ({ readonly status: 'failed' } & Pick<
      EventOf<'worker.failed'>['data'],
      'error' | 'cause' | 'partial_result'
    >)
export type Settled = ChildOutcome & {
  readonly worker_id: string
  readonly files_written: readonly string[]
  /** RFC 3339. */
  readonly at: string
}
/** A call without a result that resumes when its children have ended. */
export type Wait = {
  readonly tool_call_id: string
  /** The event since which the call waits; a later message of the user ends the wait. */
  readonly since: EventId
  /** RFC 3339. */
  readonly at: string
  /** The children that the call waits for, in order; later attempts of its tasks are appended. */
  readonly ids: readonly string[]
  /** The tasks that the call waits for; they may have no child yet. */
  readonly tasks: readonly string[]
  /** A task is blocked and the model does not know it yet: that takes priority over the wait. */
  readonly interrupted: boolean
  /**
   * Children whose outcome belongs in this call's result; the model reads other outcomes as separate
   * messages.
   */
  readonly settled: readonly Settled[]
  readonly joins: boolean
}
export type Children = {
  readonly open: readonly Child[]
  readonly waits: readonly Wait[]
  /** Tasks that wait for other tasks or for a free place. */
  readonly todo: readonly string[]
  /** A task was blocked since the last model call. */
  readonly unheard: boolean
}
export const noChildren: Children = { open: [], waits: [], todo: [], unheard: false }

/** The tool that waits, from its tool.call on, for existing children. */
export const WAIT_TOOL = 'wait_for_workers'
export const SPAWN_TASK_TOOL = 'spawn_task'
export const CANCEL_TASK_TOOL = 'cancel_task'
export const UNBLOCK_TASK_TOOL = 'unblock_task'

export function foldChildren(children: Children, event: SessionEvent): Children {
  switch (event.type) {
    case 'worker.spawned':
      return begin(children, event)
    case 'worker.complete':
    case 'worker.failed':
      return settle(children, event)
    case 'task.blocked':
      return interrupt(children)
    case 'llm.request':
      return children.unheard ? { ...children, unheard: false } : children
    case 'task.failed':
      return notTodo(children, [event.data.task_id, ...event.data.cancelled_tasks])
    case 'user.message':
      return event.data.synthetic === 'task_cancelled'
        ? notTodo(children, listOf(event.data.metadata?.['cancelled_tasks']))
        : children
    case 'tool.call':
      return event.data.name === WAIT_TOOL ? beginWait(children, event) : children
    case 'delegation.start':
      return joinChild(children, event)
    case 'tool.result':
      return endWait(toldOfTasks(children, event), event)
    default:
      return children
  }
}

function begin({ open, waits, todo, unheard }: Children, { data }: EventOf<'worker.spawned'>): Children {
  const { worker_id, goal, agent, kind, task_id } = data
  return {
    open: [...open, { worker_id, goal, agent, kind, ...(task_id === undefined ? {} : { task_id }) }],
    waits: waits.map(wait =>
      task_id !== undefined && wait.tasks.includes(task_id)
        ? { ...wait, ids: [...wait.ids, worker_id] }
        : wait,
    ),
    todo: todo.filter(id => id !== task_id),
    unheard,
  }
}

/** A delegation's result consists of its children's results, so it keeps waiting. */
const interrupt = (children: Children): Children => ({
  ...children,
  waits: children.waits.map(wait => (wait.joins ? wait : { ...wait, interrupted: true })),
  unheard: true,
})

const endWait = (children: Children, { data: { tool_call_id } }: EventOf<'tool.result'>): Children =>
  children.waits.some(wait => wait.tool_call_id === tool_call_id)
    ? { ...children, waits: children.waits.filter(wait => wait.tool_call_id !== tool_call_id) }
    : children

/** A task that waits for others has no event of its own; it is read from the results of the tools. */
function toldOfTasks(children: Children, { data: { name, content } }: EventOf<'tool.result'>): Children {
  if (name !== SPAWN_TASK_TOOL && name !== CANCEL_TASK_TOOL) return children
  const { task_id, status, cancelled } = parseResult(content)
  if (name === CANCEL_TASK_TOOL) return notTodo(children, listOf(cancelled))
  return status === 'todo' && typeof task_id === 'string'
    ? { ...children, todo: [...children.todo, task_id] }
    : children
}

export function parseResult(content: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(content)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    // A truncated result is not valid JSON and names no task.
    return {}
  }
}
export const listOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

const notTodo = (children: Children, ids: readonly string[]): Children =>
  children.todo.some(id => ids.includes(id))
    ? { ...children, todo: children.todo.filter(id => !ids.includes(id)) }
    : children

/** The named workers and tasks that are under way; all of them if the call names none. */
function beginWait(children: Children, { id, created_at, data }: EventOf<'tool.call'>): Children {
  const named = listOf(data.arguments['ids'])
  const isNamed = (each: string | undefined): boolean =>
    each !== undefined && (named.length === 0 || named.includes(each))
  const waited = children.open.filter(child => isNamed(child.worker_id) || isNamed(child.task_id))
  const wait = {
    tool_call_id: data.tool_call_id,
    since: id,
    at: created_at,
    ids: waited.map(child => child.worker_id),
    tasks: [...waited.flatMap(child => child.task_id ?? []), ...children.todo.filter(isNamed)],
    interrupted: children.unheard,
    settled: [],
    joins: false,
  }
  return { ...children, waits: [...children.waits, wait] }
}

function joinChild(children: Children, { id, created_at, data }: EventOf<'delegation.start'>): Children {
  const { child_session_id: child, tool_call_id } = data
  const waits = children.waits.some(wait => wait.tool_call_id === tool_call_id)
    ? children.waits.map(wait =>
        wait.tool_call_id === tool_call_id ? { ...wait, since: id, ids: [...wait.ids, child] } : wait,
      )
    : [
        ...children.waits,
        {
          tool_call_id,
          since: id,
          at: created_at,
          ids: [child],
          tasks: [],
          interrupted: false,
          settled: [],
          joins: true,
        },
      ]
  return { ...children, waits }
}

function settle(
  { open, waits, todo, unheard }: Children,
  event: EventOf<'worker.complete'> | EventOf<'worker.failed'>,
): Children {
  const { worker_id, files_written } = event.data
  const settled: Settled = { ...outcomeOf(event), worker_id, files_written, at: event.created_at }
  return {
    open: open.filter(child => child.worker_id !== worker_id),
    waits: waits.map(wait =>
      wait.joins && wait.ids.includes(worker_id) ? { ...wait, settled: [...wait.settled, settled] } : wait,
    ),
    todo: event.type === 'worker.failed' ? todoAfter(todo, event) : todo,
    unheard,
  }
}

/**
 * The next attempt of a task may have to wait for a free place; the end of this session's work ends its
 * tasks.
 */
function todoAfter(todo: readonly string[], { data }: EventOf<'worker.failed'>): readonly string[] {
  const { cause, will_retry, task_id, cancelled_tasks = [] } = data
  if (cause === 'parent') return []
  if (will_retry === true && task_id !== undefined) return [...todo, task_id]
  return cancelled_tasks.length === 0 ? todo : todo.filter(id => !cancelled_tasks.includes(id))
}

function outcomeOf(event: EventOf<'worker.complete'> | EventOf<'worker.failed'>): ChildOutcome {
  if (event.type === 'worker.complete') {
    const { result, truncated } = event.data
    return { status: 'complete', result, ...(truncated === undefined ? {} : { truncated }) }
  }
  const { error, cause, partial_result } = event.data
  return { status: 'failed', error, cause, ...(partial_result === undefined ? {} : { partial_result }) }
}

/** Whether nothing that a call waits for is still under way, or one of its tasks waits for an answer. */
export const isOver = ({ open, todo }: Children, { ids, tasks, interrupted }: Wait): boolean =>
  interrupted || (!open.some(child => ids.includes(child.worker_id)) && !todo.some(id => tasks.includes(id)))

/** Whether tasks of this session are running or still to come. */
export const hasTasks = ({ open, todo }: Children): boolean =>
  todo.length > 0 || open.some(child => child.task_id !== undefined)
