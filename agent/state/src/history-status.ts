/** Who may do what while the session is active, paused or over, and that a turn comes to an end. */
import { factsOf, type SessionEvent } from '@cairn/protocol'
import { endsWorker } from './history-children.ts'
import { isReviewWake } from './review.ts'

export type StatusRules = {
  /**
   * `concludes`: it is the result of a question that was answered, which begins nothing. `hasWorkers`:
   * workers of the session are open, so it can be paused although its turn has ended.
   */
  check(event: SessionEvent, concludes: boolean, hasWorkers: boolean): Iterable<string>
  /** What is wrong with a log that ends here; `waits`: somebody else has to do something first. */
  atEnd(waits: boolean): Iterable<string>
}

type Standing = {
  status: 'active' | 'paused' | 'completed' | 'failed'
  awake: boolean
  /**
   * Something was said since the last turn ended in order, or work was begun: whoever wakes has something to
   * bring to an end.
   */
  due: boolean
  inTurn: boolean
  /** The user was asked to do something, and nothing was said since. */
  waitsForAction: boolean
}

export function statusRules(): StatusRules {
  const standing: Standing = {
    status: 'active',
    awake: false,
    due: false,
    inTurn: false,
    waitsForAction: false,
  }
  return {
    *check(event, concludes, hasWorkers) {
      const { worker, wakes: mayWake } = factsOf(event.type)
      // Read in the next turn, whenever that is.
      const wakes = mayWake && !(event.type === 'loop.result' && event.data.wake !== true)
      if (worker && !standing.awake) yield 'no worker is awake'
      // What answers a command between turns answers it in full.
      if (event.type === 'llm.response' && event.data.turn_id === undefined) standing.due &&= standing.inTurn
      // A resume alone may find nothing to do, or no more than to write down what was answered before a stop.
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

function* move(standing: Standing, event: SessionEvent, hasWorkers: boolean): Generator<string> {
  const { status } = standing
  switch (event.type) {
    case 'harness.wake':
      // A review looks back over a session that rests, and is nobody's turn.
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
      // Of a task that a person cancelled a failed session is told, and acts on it when it goes on.
      if (status === 'completed' || (status === 'failed' && event.data.synthetic !== 'task_cancelled'))
        yield `a message without session.resume while the session was ${status}`
      return
    case 'session.resume':
      // What was archived in a turn has no status of its own in the log.
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

/** A stop ends the turn; the session stays as it is. */
const STATUS_AFTER = {
  'session.pause': 'paused',
  'session.stopped': null,
  'session.complete': 'completed',
  'session.fail': 'failed',
} as const
