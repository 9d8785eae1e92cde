/**
 * Checks the history of a session from outside: against the acknowledgements of senders, the events that
 * readers received, and the effects of commands. It adds to `checkHistory` of the verify package, which
 * checks a log by itself.
 */
import type { SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'

export type Observed = {
  /** Messages that were answered with 2xx. */
  acknowledged: { id: number; content: string }[]
  /** The events that readers received, as JSON by id. */
  seen: Map<number, string>
}
export type History = Observed & {
  id: string
  status: string
  log: readonly SessionEvent[]
  /** A line per execution of a command, written by the command itself. */
  executions: readonly string[]
}

/** Every broken promise, as a sentence each. */
export const judge = (history: History): string[] => [
  ...checkHistory(history.log, { settled: true, current: true }),
  ...checkIds(history),
  ...checkAcknowledged(history),
  ...checkSeen(history),
  ...checkExecutions(history),
  ...checkEnd(history),
]

/** Stricter than for logs in general: no event here is old enough to be pruned. */
function* checkIds({ id, log }: History): Generator<string> {
  for (const [at, event] of log.entries()) {
    if (event.id !== at + 1) return yield `expected event ${at + 1}, the log has ${event.id} there`
    if (event.session_id !== id) yield `event ${event.id} names session ${event.session_id}`
  }
}

function* checkAcknowledged({ acknowledged, log }: History): Generator<string> {
  for (const { id, content } of acknowledged) {
    const event = log[id - 1]
    if (event?.type !== 'user.message' || event.data.content !== content)
      yield (
        `the acknowledged message ${id} "${content}" is ` +
        `${event === undefined ? 'gone' : `now ${JSON.stringify(event)}`}`
      )
  }
}

function* checkSeen({ seen, log }: History): Generator<string> {
  for (const [id, json] of seen)
    if (JSON.stringify(log[id - 1]) !== json)
      yield `a reader saw ${json} as event ${id}, the log has ${JSON.stringify(log[id - 1])}`
}

/**
 * Each executed command wrote its label. A label that appears twice means that the command ran twice. The
 * label of a command whose result reports success must exist.
 */
function* checkExecutions({ executions, log }: History): Generator<string> {
  for (const [at, label] of executions.entries())
    if (executions.indexOf(label) !== at) yield `the command ${label} ran more than once`
  const called = new Map(
    log.flatMap(event =>
      event.type === 'tool.call' && event.data.name === 'terminal'
        ? [[event.data.tool_call_id, String(event.data.arguments['command']).split(' ')[1] ?? '']]
        : [],
    ),
  )
  for (const label of executions)
    if (![...called.values()].includes(label)) yield `the command ${label} ran without a tool.call on disk`
  for (const event of log) {
    if (event.type !== 'tool.result' || event.data.name !== 'terminal') continue
    const label = called.get(event.data.tool_call_id)
    const { exit_code } = JSON.parse(event.data.content) as { exit_code?: number }
    if (exit_code === 0 && !executions.includes(label ?? ''))
      yield `the result ${event.id} says that ${label} ran, and it did not`
  }
}

/** Nothing is left running, and no turn failed for a reason other than the kills. */
function* checkEnd({ log, status }: History): Generator<string> {
  for (const failure of log.filter(event => event.type === 'session.fail')) {
    if (failure.data.error_category !== 'recovery_loop' || deathsWithoutProgress(log, failure.id) < 3)
      yield `a turn failed: ${JSON.stringify(failure.data)}`
  }
  const end = log.findLast(event => event.type === 'session.complete' || event.type === 'session.fail')
  const expected = end?.type === 'session.fail' ? 'failed' : 'completed'
  if (log.length > 0 && status !== expected) yield `the session is ${status}, its log says ${expected}`
}

/** The number of consecutive runner deaths right before this event, without progress between them. */
function deathsWithoutProgress(log: readonly SessionEvent[], id: number): number {
  const before = log.slice(0, id - 1)
  const progress = before.findLastIndex(
    ({ type }) => type === 'llm.response' || type === 'tool.result' || type === 'session.resume',
  )
  return before.slice(progress + 1).filter(({ type }) => type === 'harness.recovered').length
}
