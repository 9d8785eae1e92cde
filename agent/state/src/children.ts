/**
 * The children of a session that matter to its next step, as a fold of its log: those that are open, and the
 * calls that wait for some of them. A child that ended, and that no call waits for, is not kept: the
 * conversation has its outcome, and the store its link.
 */
import type { EventId, EventOf, SessionEvent, WorkerKind } from '@cairn/protocol'

export type Child = {
  readonly worker_id: string
  readonly goal: string
  readonly agent: string
  readonly kind: WorkerKind
}
export type Outcome =
  | ({ readonly status: 'complete' } & Pick<EventOf<'worker.complete'>['data'], 'result' | 'truncated'>)
  | ({ readonly status: 'failed' } & Pick<
      EventOf<'worker.failed'>['data'],
      'error' | 'cause' | 'partial_result'
    >)
export type Settled = Outcome & {
  readonly worker_id: string
  readonly files_written: readonly string[]
  /** RFC 3339. */
  readonly at: string
}
/** A call without a result that goes on when its children have ended. */
export type Wait = {
  readonly tool_call_id: string
  /** The event since which it waits; a message of the user behind it ends the waiting. */
  readonly since: EventId
  /** RFC 3339. */
  readonly at: string
  /** The children it waits for, in order. */
  readonly ids: readonly string[]
  /** Those whose outcome belongs into its result; the model reads the others as messages of their own. */
  readonly settled: readonly Settled[]
  readonly joins: boolean
}
export type Children = { readonly open: readonly Child[]; readonly waits: readonly Wait[] }
export const noChildren: Children = { open: [], waits: [] }

/** The tool that waits from its tool.call on, for children that were made before. */
export const WAIT_TOOL = 'wait_for_workers'

export function foldChildren(children: Children, event: SessionEvent): Children {
  switch (event.type) {
    case 'worker.spawned': {
      const { worker_id, goal, agent, kind } = event.data
      return { ...children, open: [...children.open, { worker_id, goal, agent, kind }] }
    }
    case 'worker.complete':
    case 'worker.failed':
      return settle(children, event)
    case 'tool.call':
      return event.data.name === WAIT_TOOL ? beginWait(children, event) : children
    case 'delegation.start':
      return joinChild(children, event)
    case 'tool.result': {
      const { tool_call_id } = event.data
      return children.waits.some(wait => wait.tool_call_id === tool_call_id)
        ? { ...children, waits: children.waits.filter(wait => wait.tool_call_id !== tool_call_id) }
        : children
    }
    default:
      return children
  }
}

/** Ids that it named and that are open; all open ones where it named none. */
function beginWait(children: Children, { id, created_at, data }: EventOf<'tool.call'>): Children {
  const named = data.arguments['ids']
  const ids = children.open
    .map(child => child.worker_id)
    .filter(worker => !Array.isArray(named) || named.length === 0 || named.includes(worker))
  const wait = { tool_call_id: data.tool_call_id, since: id, at: created_at, ids, settled: [], joins: false }
  return { ...children, waits: [...children.waits, wait] }
}

function joinChild(children: Children, { id, created_at, data }: EventOf<'delegation.start'>): Children {
  const { child_session_id: child, tool_call_id } = data
  const waits = children.waits.some(wait => wait.tool_call_id === tool_call_id)
    ? children.waits.map(wait =>
        wait.tool_call_id === tool_call_id ? { ...wait, since: id, ids: [...wait.ids, child] } : wait,
      )
    : [...children.waits, { tool_call_id, since: id, at: created_at, ids: [child], settled: [], joins: true }]
  return { ...children, waits }
}

function settle(
  { open, waits }: Children,
  event: EventOf<'worker.complete'> | EventOf<'worker.failed'>,
): Children {
  const { worker_id, files_written } = event.data
  const settled: Settled = { ...outcomeOf(event), worker_id, files_written, at: event.created_at }
  return {
    open: open.filter(child => child.worker_id !== worker_id),
    waits: waits.map(wait =>
      wait.joins && wait.ids.includes(worker_id) ? { ...wait, settled: [...wait.settled, settled] } : wait,
    ),
  }
}

function outcomeOf(event: EventOf<'worker.complete'> | EventOf<'worker.failed'>): Outcome {
  if (event.type === 'worker.complete') {
    const { result, truncated } = event.data
    return { status: 'complete', result, ...(truncated === undefined ? {} : { truncated }) }
  }
  const { error, cause, partial_result } = event.data
  return { status: 'failed', error, cause, ...(partial_result === undefined ? {} : { partial_result }) }
}

/** Whether none of the children that a call waits for is open any more. */
export const isOver = ({ open }: Children, { ids }: Wait): boolean =>
  !open.some(child => ids.includes(child.worker_id))
