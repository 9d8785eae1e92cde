/**
 * Invariants of every log, regardless of who wrote it and how often the writers crashed: an independent check
 * of Contract 2, 6, 7, 10 that shares no code with the writers. Crash tests and `cairn doctor` use it.
 */
import { type EventId, fitsContract, type SessionEvent } from '@cairn/protocol'
import { adviceRules } from './advice.ts'
import { browserRules } from './browser.ts'
import { callRules } from './calls.ts'
import { childRules } from './children.ts'
import { codeRules } from './code.ts'
import { commandRules } from './commands.ts'
import { goalRules } from './goals.ts'
import { missionRules } from './missions.ts'
import { scheduleRules } from './schedules.ts'
import { researchRules } from './research.ts'
import { iterationRules } from './iterations.ts'
import { sagaRules } from './sagas.ts'
import { statusRules } from './status.ts'
import { usageRules } from './usage.ts'

export type HistoryOptions = {
  /** No runner works on the session any more: its last turn has ended or waits for an answer. */
  settled?: boolean
  /**
   * The whole log was written by this release, so omissions of older releases are reported: the tool.result
   * of an answered question, and the usage of a turn that was not started by a message.
   */
  current?: boolean
}

/** Violations, each a sentence that names the event; empty for a sound log. */
export function checkHistory(
  events: readonly SessionEvent[],
  { settled = false, current = false }: HistoryOptions = {},
): string[] {
  const found: string[] = []
  const goals = goalRules()
  const missions = missionRules()
  const research = researchRules()
  const schedules = scheduleRules()
  const commands = commandRules()
  const code = codeRules()
  const browser = browserRules()
  const advice = adviceRules()
  const sagas = sagaRules()
  const calls = callRules(current)
  const children = childRules()
  const status = statusRules()
  const iterations = iterationRules()
  const usage = usageRules()

  let before: SessionEvent | null = null
  for (const event of events) {
    const concludes = calls.concludes(event)
    for (const what of [
      ...checkOrder(before, event, iterations.isUnderWay()),
      ...status.check(event, concludes, children.areOpen()),
      ...goals(event),
      ...missions.check(event),
      ...research(event),
      ...schedules(event),
      ...commands(event),
      ...code(event),
      ...browser(event),
      ...advice(event),
      ...sagas.check(event),
      ...calls.check(event),
      ...children.check(event),
      ...iterations.check(event),
      ...(current ? usage(event) : []),
    ])
      found.push(tell(event, what))
    before = event
  }

  if (before !== null && settled) {
    const last: SessionEvent = before
    const waits = calls.waits() || children.mayRest()
    for (const what of [...sagas.atEnd(), ...missions.atEnd(), ...checkEnd(last), ...status.atEnd(waits)])
      found.push(tell(last, what))
  }
  return found
}

const tell = (event: SessionEvent, what: string): string => `event ${event.id} (${event.type}): ${what}`

/** `mayMiss`: deltas may have been pruned here, and their ids with them. */
function* checkOrder(before: SessionEvent | null, event: SessionEvent, mayMiss: boolean): Generator<string> {
  const expected: EventId = before === null ? 1 : before.id + 1
  if (event.id < expected) yield `its id does not come after ${before?.id}`
  else if (event.id > expected && !mayMiss)
    yield `ids ${expected} to ${event.id - 1} are missing where no chunk can have been pruned`
  if (before !== null && event.session_id !== before.session_id) yield 'it belongs to another session'
  if (
    before?.type === 'turn.summary' &&
    event.type !== 'session.complete' &&
    event.type !== 'outcome.continuation' &&
    event.type !== 'mission.continuation'
  )
    yield 'a turn.summary is followed by its session.complete, or by the continuation of a goal or mission'
  if (!fitsContract(event)) yield 'its data does not fit the contract of its type'
}

function* checkEnd(last: SessionEvent): Generator<string> {
  if (last.type === 'turn.summary') yield 'the log ends on it'
}
