/**
 * What every log must satisfy, whoever wrote it and however often its writers died: an independent reading of
 * Contract 2, 6, 7, 10, sharing nothing with the code that writes. Crash tests and `cairn doctor`
 * use it.
 */
import { type EventId, factsOf, fitsContract, type SessionEvent } from '@cairn/protocol'
import { adviceRules } from './history-advice.ts'
import { callRules } from './history-calls.ts'
import { childRules, endsWorker } from './history-children.ts'
import { commandRules } from './history-commands.ts'
import { goalRules } from './history-goals.ts'
import { sagaRules } from './history-sagas.ts'
import { isReviewWake } from './review.ts'

export type HistoryOptions = {
  /** Nobody is at work on the session any more: its last turn has an end, or waits for an answer. */
  settled?: boolean
  /**
   * All of it was written by this release: what older ones left out is missed (the tool.result of a question
   * that was answered).
   */
  current?: boolean
}

type Status = 'active' | 'paused' | 'completed' | 'failed'

/** Violations, each a sentence that names the event; an empty list is a sound log. */
export function checkHistory(
  events: readonly SessionEvent[],
  { settled = false, current = false }: HistoryOptions = {},
): string[] {
  const found: string[] = []
  const wrong = (event: SessionEvent, what: string): void =>
    void found.push(`event ${event.id} (${event.type}): ${what}`)

  const responses = new Set<string>()
  const summaries = new Set<string>()
  const turnSummaries = new Set<string>()
  let status: Status = 'active'
  let awake = false
  /**
   * Something was said since the last turn ended in order, or work was begun: whoever wakes has something to
   * bring to an end.
   */
  let due = false
  let inTurn = false
  /** The call of the model under way: where deltas may stand, and may have been pruned. */
  let request: { key: string; turn: string; iteration: number } | null = null
  let lastIteration: { turn: string; iteration: number } | null = null
  /** The user was asked to do something, and nothing was said since. */
  let waitsForAction = false
  let before: SessionEvent | null = null
  const checkGoal = goalRules()
  const checkCommand = commandRules()
  const checkAdvice = adviceRules()
  const sagas = sagaRules()
  const calls = callRules(current)
  const children = childRules()

  for (const event of events) {
    const expected: EventId = before === null ? 1 : before.id + 1
    if (event.id < expected) wrong(event, `its id does not come after ${before?.id}`)
    else if (event.id > expected && request === null)
      wrong(event, `ids ${expected} to ${event.id - 1} are missing where no chunk can have been pruned`)
    if (before !== null && event.session_id !== before.session_id)
      wrong(event, 'it belongs to another session')
    if (
      before?.type === 'turn.summary' &&
      event.type !== 'session.complete' &&
      event.type !== 'outcome.continuation'
    )
      wrong(event, 'a turn.summary is followed by its session.complete, or by the continuation of a goal')
    if (!fitsContract(event)) wrong(event, 'its data does not fit the contract of its type')
    const { worker, wakes } = factsOf(event.type)
    if (worker && !awake) wrong(event, 'no worker is awake')
    // What answers a command between turns answers it in full.
    if (event.type === 'llm.response' && event.data.turn_id === undefined) due &&= inTurn
    // A resume alone may find nothing to do, or no more than to write down what was answered before a stop.
    else if (!calls.concludes(event) && (worker || (wakes && event.type !== 'session.resume'))) due = true
    if (event.type === 'llm.request') inTurn = true
    for (const what of checkGoal(event)) wrong(event, what)
    for (const what of checkCommand(event)) wrong(event, what)
    for (const what of checkAdvice(event)) wrong(event, what)
    for (const what of sagas.check(event)) wrong(event, what)
    for (const what of calls.check(event)) wrong(event, what)
    for (const what of children.check(event)) wrong(event, what)

    switch (event.type) {
      case 'harness.wake':
        if (isReviewWake(event)) {
          // It looks back over a session that rests, and is nobody's turn.
          if (status !== 'completed') wrong(event, `a review began while the session was ${status}`)
          break
        }
        if (status !== 'active') wrong(event, `a worker woke while the session was ${status}`)
        awake = true
        break
      case 'harness.recovered':
      case 'outcome.continuation':
        awake = false
        break
      case 'inbox.action_required':
        if (event.data.proposal === undefined) waitsForAction = true
        break
      case 'user.message':
        waitsForAction = false
        if (status === 'completed' || status === 'failed')
          wrong(event, `a message without session.resume while the session was ${status}`)
        break
      case 'session.resume':
        if (status === 'active') wrong(event, 'resumed while active')
        status = 'active'
        break
      case 'session.pause':
      case 'session.stopped':
      case 'session.complete':
      case 'session.fail':
        if (status !== 'active' && !(status === 'paused' && endsWorker(event)))
          wrong(event, `while the session was ${status}`)
        if (event.type === 'session.stopped' || event.type === 'session.complete') due = false
        if (event.type !== 'session.pause') inTurn = false
        if (event.type !== 'session.stopped')
          status =
            event.type === 'session.pause'
              ? 'paused'
              : event.type === 'session.complete'
                ? 'completed'
                : 'failed'
        awake = false
        if (event.type !== 'session.pause') request = null
        break
      case 'llm.request': {
        const { turn_id, iteration_index } = event.data
        const next = lastIteration?.turn === turn_id ? lastIteration.iteration + 1 : 0
        if (iteration_index !== next) wrong(event, `iteration ${iteration_index} where ${next} is due`)
        request = { key: `${turn_id} ${iteration_index}`, turn: turn_id, iteration: iteration_index }
        break
      }
      case 'llm.delta':
      case 'llm.heartbeat':
      case 'llm.thinking':
        if (request?.key !== `${event.data.turn_id} ${event.data.iteration_index}`)
          wrong(event, 'it belongs to no call of the model under way')
        break
      case 'llm.response': {
        const { turn_id, iteration_index } = event.data
        if (turn_id !== undefined) {
          const key = `${turn_id} ${iteration_index}`
          if (responses.has(key)) wrong(event, 'its iteration was answered before')
          if (request?.key !== key) wrong(event, 'it answers no call of the model under way')
          responses.add(key)
          lastIteration = { turn: turn_id, iteration: iteration_index ?? 0 }
          request = null
        }
        break
      }
      case 'iteration.summary': {
        const key = `${event.data.turn_id} ${event.data.iteration_index}`
        if (!responses.has(key)) wrong(event, 'its iteration has no answer')
        if (summaries.has(key)) wrong(event, 'its iteration was summed up before')
        summaries.add(key)
        break
      }
      case 'turn.summary':
        if (turnSummaries.has(event.data.turn_id)) wrong(event, 'its turn was summed up before')
        turnSummaries.add(event.data.turn_id)
        break
      default:
    }
    before = event
  }

  if (before !== null && settled) {
    for (const what of sagas.atEnd()) wrong(before, what)
    if (before.type === 'turn.summary') wrong(before, 'the log ends on it')
    const waits = calls.waits() || waitsForAction || children.mayRest()
    if (awake && due && status === 'active' && !waits) wrong(before, 'the log ends within a turn')
  }
  return found
}
