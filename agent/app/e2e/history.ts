/**
 * Judges the history of a session from outside: against what senders were told, what readers were shown and
 * what commands left behind. What a log must satisfy by itself is judged by `checkHistory` of the state
 * package, which this adds to.
 */
import type { SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/state'

export type Observed = {
  /** Messages that were answered with 2xx. */
  acknowledged: { id: number; content: string }[]
  /** What readers were shown, as JSON by id. */
  seen: Map<number, string>
}
export type History = Observed & {
  id: string
  status: string
  log: readonly SessionEvent[]
  /** A line for each time a command ran, written by the command itself. */
  executions: readonly string[]
}

/** Every broken promise as a sentence. */
export const judge = (history: History): string[] => [
  ...checkHistory(history.log, { settled: true, current: true }),
  ...checkIds(history),
  ...checkAcknowledged(history),
  ...checkSeen(history),
  ...checkExecutions(history),
  ...checkEnd(history),
]

/** Stricter than a log in general: nothing is old enough to have been pruned. */
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
 * What ran left its label; a label twice is a command run twice, and one whose result says it went well must
 * be there.
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

/** Nothing is left running, and no turn of this test has a reason to fail but the kills themselves. */
function* checkEnd({ log, status }: History): Generator<string> {
  for (const failure of log.filter(event => event.type === 'session.fail')) {
    if (failure.data.error_category !== 'recovery_loop' || deathsWithoutProgress(log, failure.id) < 3)
      yield `a turn failed: ${JSON.stringify(failure.data)}`
  }
  const end = log.findLast(event => event.type === 'session.complete' || event.type === 'session.fail')
  const expected = end?.type === 'session.fail' ? 'failed' : 'completed'
  if (log.length > 0 && status !== expected) yield `the session is ${status}, its log says ${expected}`
}

/**
 * Workers that were found dead right before this event, one after the other, with nothing finished between
 * them.
 */
function deathsWithoutProgress(log: readonly SessionEvent[], id: number): number {
  const before = log.slice(0, id - 1)
  const progress = before.findLastIndex(
    ({ type }) => type === 'llm.response' || type === 'tool.result' || type === 'session.resume',
  )
  return before.slice(progress + 1).filter(({ type }) => type === 'harness.recovered').length
}
