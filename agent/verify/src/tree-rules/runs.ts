/**
 * Consistency between the log of a scheduled run and that of its session: exactly one `loop.result`, with the
 * run's outcome, in the moment in which it ended (contract 14.17).
 */
import type { EventOf, SessionEvent } from '@cairn/protocol'

export const isRunLog = (log: readonly SessionEvent[]): boolean => {
  const first = log.find(event => event.type === 'user.message')
  return first?.type === 'user.message' && first.data.synthetic === 'loop_run'
}

type Result = EventOf<'loop.result'>

export const isOpenRun = (log: readonly SessionEvent[]): boolean => isRunLog(log) && endOf(log) === undefined

const endOf = (log: readonly SessionEvent[]): SessionEvent | undefined =>
  log.find(({ type }) => type === 'session.complete' || type === 'session.fail')

export function checkRun(
  id: string,
  log: readonly SessionEvent[],
  logs: ReadonlyMap<string, readonly SessionEvent[]>,
): string[] {
  const results = resultsIn(logs).filter(({ data }) => data.run_session_id === id)
  const end = endOf(log)
  if (results.length > 1) return [`${id}: its result was reported ${results.length} times`]
  const [result] = results
  if (end === undefined) return result === undefined ? [] : [`${id}: a result of a run that has not ended`]
  if (result === undefined) return [`${id}: the run has ended, but its result was not reported`]
  const found: string[] = []
  if (end.created_at !== result.created_at)
    found.push(`${id}: it ended at ${end.created_at}, but was reported at ${result.created_at}`)
  const completed = end.type === 'session.complete' && end.data.reason === 'completed'
  const { outcome } = result.data
  if ((outcome === 'success' || outcome === 'empty') !== completed)
    found.push(`${id}: it is reported as ${outcome}, but ended with ${end.type}`)
  return found
}

/** Each result names an existing run. */
export const checkResults = (logs: ReadonlyMap<string, readonly SessionEvent[]>): string[] =>
  resultsIn(logs).flatMap(({ session_id, data: { run_session_id: run } }) =>
    isRunLog(logs.get(run) ?? []) ? [] : [`${session_id}: a result of ${run}, which is not a run`],
  )

const resultsIn = (logs: ReadonlyMap<string, readonly SessionEvent[]>): Result[] =>
  [...logs.values()].flatMap(log => log.filter((event): event is Result => event.type === 'loop.result'))
