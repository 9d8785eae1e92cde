/** Events about child sessions. The only module with the coordination writer (contract 14.4). */
import { cutAt, type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('coordination')

/** Length limits for goals, results and errors in events. */
const GOAL_CHARS = 500
export const RESULT_CHARS = 10_000
const ERROR_CHARS = 2000

export const workerSpawned = (data: EventData<'worker.spawned'>): EventDraft =>
  write('worker.spawned', { ...data, goal: cutAt(data.goal, GOAL_CHARS) })

export const workerComplete = (data: EventData<'worker.complete'>): EventDraft => {
  const result = cutAt(data.result, RESULT_CHARS)
  return write('worker.complete', { ...data, result, ...(result === data.result ? {} : { truncated: true }) })
}

export const workerFailed = ({ partial_result, ...data }: EventData<'worker.failed'>): EventDraft =>
  write('worker.failed', {
    ...data,
    error: cutAt(data.error, ERROR_CHARS),
    ...(partial_result === undefined ? {} : { partial_result: cutAt(partial_result, ERROR_CHARS) }),
  })

export const loopResult = (data: EventData<'loop.result'>): EventDraft => write('loop.result', data)

const REASON_CHARS = 500

export const taskBlocked = (data: EventData<'task.blocked'>): EventDraft<'task.blocked'> =>
  write('task.blocked', { ...data, reason: cutAt(data.reason, REASON_CHARS) })
export const taskFailed = (data: EventData<'task.failed'>): EventDraft =>
  write('task.failed', { ...data, error: cutAt(data.error, ERROR_CHARS) })

export const boardNote = (data: EventData<'board.note'>): EventDraft => write('board.note', data)
export const boardUpdate = (data: EventData<'board.update'>): EventDraft => write('board.update', data)

const TRACE_CALLS = 200

export const delegationStart = (data: EventData<'delegation.start'>): EventDraft =>
  write('delegation.start', { ...data, goal: cutAt(data.goal, GOAL_CHARS) })
export const delegationComplete = (data: EventData<'delegation.complete'>): EventDraft =>
  write('delegation.complete', { ...data, trace: data.trace.slice(0, TRACE_CALLS) })
export const delegationStale = (data: EventData<'delegation.stale'>): EventDraft =>
  write('delegation.stale', data)
export const delegationFailed = (data: EventData<'delegation.failed'>): EventDraft =>
  write('delegation.failed', data)
