/**
 * In a tree without a running session, everything that waits can be moved by someone: a child that has not
 * ended is paused, waits for a person, or waits for its own children; a call that waits for children has an
 * open one; and a person was asked about each blocked task. Part of `checkTree`.
 */
import { isBesideTurns, type SessionEvent } from '@cairn/protocol'
import { WAIT_TOOL, BLOCK_TOOL, TASK_BLOCKED } from '@cairn/state'

type Log = readonly SessionEvent[]
type Child = { task_id: string | undefined; call: string | undefined }
type WaitState = {
  status: 'active' | 'paused' | 'completed' | 'failed'
  /** The mission that it coordinates is paused, and its workers with it. */
  missionPaused: boolean
  /** Reason of the pause; undefined while not paused. */
  reason: string | undefined
  /** Calls without a result, by call id: the tool and the ids that it names. */
  calls: Map<string, { name: string; ids: readonly unknown[] }>
  /** Questions and gates without an answer, and open actions. */
  asked: Set<string>
  /** Children that have not ended. */
  open: Map<string, Child>
}

/** `parentLog`: the parent's log, if it has no outcome of this session yet. */
export function checkWaits(id: string, log: Log, parentLog: Log | undefined): string[] {
  const own = foldWaitState(log)
  const found = own.status === 'active' ? checkCalls(id, own) : []
  if (parentLog === undefined || own.status === 'completed' || own.status === 'failed') return found
  const above = foldWaitState(parentLog)
  if (own.status === 'paused') {
    if (own.reason === 'parent_paused' && above.status !== 'paused' && !above.missionPaused)
      found.push(`${id}: it is still paused, but its parent has resumed`)
    return found
  }
  const block = [...own.calls].find(([, { name }]) => name === BLOCK_TOOL)?.[0]
  if (block !== undefined) return [...found, ...checkBlock(id, block, parentLog, above)]
  if (own.asked.size === 0 && own.open.size === 0)
    found.push(`${id}: it has not ended, but waits for no person or worker`)
  return found
}

/** Each call that waits for children has one that is at work. */
const checkCalls = (id: string, { calls, open }: WaitState): string[] =>
  [...calls].flatMap(([call, { name, ids }]) => {
    const isNamed = ([child, { task_id }]: [string, Child]): boolean =>
      ids.length === 0 || ids.includes(child) || ids.includes(task_id)
    const children = [...open]
    const isWait = name === WAIT_TOOL || name === DELEGATE_TOOL
    const isWaited =
      name === WAIT_TOOL
        ? // A named task may not have started; then it waits for a child that is not named.
          children.some(isNamed) || (children.length > 0 && ids.length > 0)
        : children.some(([, child]) => child.call === call)
    return isWait && !isWaited ? [`${id}: ${name} ${call} waits for workers, but none is open`] : []
  })
const DELEGATE_TOOL = 'delegate_task'

/**
 * The parent knows of the block and a person was asked; a paused or failed parent does both when it resumes.
 */
function checkBlock(id: string, call: string, parentLog: Log, above: WaitState): string[] {
  const told = parentLog.find(event => event.type === 'task.blocked' && event.data.block_call_id === call)
  if (told?.type !== 'task.blocked')
    return [`${id}: ${BLOCK_TOOL} ${call} waits for an answer, but its parent was not notified`]
  const isAsked = parentLog.some(
    ({ id: at, type, data }) =>
      at > told.id &&
      type === 'inbox.action_required' &&
      data.action_type === TASK_BLOCKED &&
      data.target === told.data.task_id,
  )
  return isAsked || above.status === 'paused' || above.status === 'failed'
    ? []
    : [`${id}: its task ${told.data.task_id} is blocked, but no person was asked`]
}

function foldWaitState(log: Log): WaitState {
  const own: WaitState = {
    status: 'active',
    missionPaused: false,
    reason: undefined,
    calls: new Map(),
    asked: new Set(),
    open: new Map(),
  }
  for (const event of log) foldEvent(own, event)
  return own
}

const ACTION = 'an action'

function foldEvent(own: WaitState, event: SessionEvent): void {
  switch (event.type) {
    case 'tool.call': {
      const { tool_call_id, name, arguments: given } = event.data
      own.calls.set(tool_call_id, { name, ids: Array.isArray(given['ids']) ? given['ids'] : [] })
      return
    }
    case 'tool.result':
      own.calls.delete(event.data.tool_call_id)
      return
    case 'inbox.input_required':
    case 'inbox.governance_gate':
      own.asked.add(event.data.tool_call_id)
      return
    case 'inbox.action_required':
      if (event.data.proposal === undefined && !isBesideTurns(event.data.action_type)) own.asked.add(ACTION)
      return
    case 'ask_user_question.response':
      own.asked.delete(event.data.tool_call_id)
      return
    case 'user.message':
      if (event.data.tool_call_id !== undefined) own.asked.delete(event.data.tool_call_id)
      for (const call of event.data.passes_over ?? []) own.asked.delete(call)
      own.asked.delete(ACTION)
      return
    case 'worker.spawned':
      own.open.set(event.data.worker_id, { task_id: event.data.task_id, call: event.data.tool_call_id })
      return
    case 'worker.complete':
    case 'worker.failed':
      own.open.delete(event.data.worker_id)
      return
    default:
      move(own, event)
  }
}

function move(own: WaitState, event: SessionEvent): void {
  switch (event.type) {
    case 'session.pause':
      own.status = 'paused'
      own.reason = event.data.reason
      return
    case 'session.resume':
      own.status = 'active'
      return
    case 'mission.paused':
      own.missionPaused = true
      return
    case 'mission.resumed':
    case 'mission.cancelled':
      own.missionPaused = false
      return
    case 'session.complete':
      own.status = 'completed'
      return
    case 'session.fail':
      own.status = 'failed'
      return
    case 'session.stopped':
      // The turn is over, and everything that it waited for with it.
      own.calls.clear()
      own.asked.clear()
      return
    default:
  }
}
