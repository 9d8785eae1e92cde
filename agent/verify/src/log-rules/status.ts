/** What may happen while the session is active, paused or over, and that each turn ends. */
import { factsOf, type SessionEvent } from '@cairn/protocol'
import { isReviewWake } from '@cairn/state'
import { endsWorker } from './children.ts'

export type StatusRules = {
  /**
   * `concludes`: the event is the result of an answered question, which starts no work. `hasWorkers`: the
   * session has open workers, so it can be paused although its turn has ended.
   */
  check(event: SessionEvent, concludes: boolean, hasWorkers: boolean): Iterable<string>
  /** Violations if the log ends here; `waits`: the next step is someone else's. */
  atEnd(waits: boolean): Iterable<string>
}

type StatusState = {
  status: 'active' | 'paused' | 'completed' | 'failed'
  awake: boolean
  /**
   * A message or other work arrived since the last regular end of a turn: a wake-up has something to finish.
   */
  due: boolean
  inTurn: boolean
  /** The user was asked to do something, and no message came since. */
  waitsForAction: boolean
}

export function statusRules(): StatusRules {
  const standing: StatusState = {
    status: 'active',
    awake: false,
    due: false,
    inTurn: false,
    waitsForAction: false,
  }
  return {
    *check(event, concludes, hasWorkers) {
      const { worker } = factsOf(event.type)
      const wakes = startsWork(event)
      if (worker && !standing.awake) yield 'no worker is awake'
      // The reply to a command between turns completes it.
      if (event.type === 'llm.response' && event.data.turn_id === undefined) standing.due &&= standing.inTurn
      // A resume alone may find nothing to do, or only have to record an answer from before a stop.
      else if (!concludes && (worker || (wakes && event.type !== 'session.resume'))) standing.due = true
      if (event.type === 'llm.request') standing.inTurn = true
      yield* move(standing, event, hasWorkers)
    },
    *atEnd(waits) {
      const { awake, due, status, waitsForAction } = standing
      if (awake && due && status === 'active' && !waits && !waitsForAction) yield 'the log ends within a turn'
    },
  }
}

/**
 * False for what the next turn reads whenever it starts: a quiet result of a loop, a task that is tried
 * again, and what the session's own stop or end did to its workers.
 */
function startsWork(event: SessionEvent): boolean {
  if (event.type === 'loop.result' && event.data.wake !== true) return false
  if (event.type === 'worker.failed' && (event.data.cause === 'parent' || event.data.will_retry === true))
    return false
  return factsOf(event.type).wakes === true
}

function* move(standing: StatusState, event: SessionEvent, hasWorkers: boolean): Generator<string> {
  const { status } = standing
  switch (event.type) {
    case 'harness.wake':
      // A background review looks back over a resting session and belongs to no turn.
      if (isReviewWake(event)) {
        if (status !== 'completed') yield `a review began while the session was ${status}`
        return
      }
      if (status !== 'active') yield `a worker woke while the session was ${status}`
      standing.awake = true
      return
    case 'harness.recovered':
    case 'outcome.continuation':
    case 'mission.continuation':
      standing.awake = false
      return
    case 'inbox.action_required':
      if (event.data.proposal === undefined) standing.waitsForAction = true
      return
    case 'user.message':
      standing.waitsForAction = false
      // A failed session is notified of a task that a person cancelled, and acts on it when it resumes.
      if (status === 'completed' || (status === 'failed' && event.data.synthetic !== 'task_cancelled'))
        yield `a message without session.resume while the session was ${status}`
      return
    case 'session.resume':
      // A session archived during a turn has no status of its own in the log.
      if (status === 'active' && event.data.source !== 'restore') yield 'resumed while active'
      standing.status = 'active'
      return
    case 'session.pause':
    case 'session.stopped':
    case 'session.complete':
    case 'session.fail':
      if (
        status !== 'active' &&
        !(status === 'paused' && endsWorker(event)) &&
        !(event.type === 'session.pause' && status !== 'paused' && hasWorkers)
      )
        yield `while the session was ${status}`
      if (event.type === 'session.stopped' || event.type === 'session.complete') standing.due = false
      if (event.type !== 'session.pause') standing.inTurn = false
      if (event.type === 'session.stopped') standing.waitsForAction = false
      standing.status = STATUS_AFTER[event.type] ?? status
      standing.awake = false
      return
    default:
  }
}

/** A stop ends the turn; the status of the session does not change. */
const STATUS_AFTER = {
  'session.pause': 'paused',
  'session.stopped': null,
  'session.complete': 'completed',
  'session.fail': 'failed',
} as const
