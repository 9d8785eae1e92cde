/**
 * The mission of a session as a fold of its log (contract 14.5). One is active at a time.
 *
 *   none    ─ mission.defined ─▶ active
 *   active  ─ mission.evaluation.end ─▶ active (needs_revision) | satisfied | blocked | failed |
 *                                       max_iterations_reached | paused
 *   active  ─ mission.paused ─▶ paused
 *   paused, blocked ─ mission.resumed ─▶ active
 *   active, paused, blocked ─ mission.cancelled ─▶ cancelled
 *
 * A finished mission is kept until the next one: the page shows it, and its last answer is not graded again.
 */
import {
  type EventId,
  type EventOf,
  factsOf,
  isMissionOver,
  type MissionStatus,
  type MissionTrigger,
  type SessionBudget,
  type SessionEvent,
} from '@cairn/protocol'
import type { EvaluationResult } from './goal.ts'
import { foldSpending, noSpending, type Spending } from './spending.ts'

export type MissionVerdict = {
  readonly iteration: number
  readonly result: EvaluationResult
  readonly trigger: MissionTrigger
  readonly explanation: string
  readonly feedback: string
  readonly parse_failed: boolean
  readonly event_id: EventId
  /** RFC 3339. */
  readonly at: string
}
export type Mission = {
  readonly mission_id: string
  readonly kind: 'mission' | 'research'
  readonly description: string
  readonly rubric: string
  readonly max_iterations: number
  readonly budget: SessionBudget | null
  readonly status: MissionStatus
  readonly defined_at: EventId
  readonly started_at: string
  /** The event that started the running round: the definition, a continuation or a resume. */
  readonly round_from: EventId
  /** Finished evaluations. */
  readonly iteration: number
  readonly verdicts: readonly MissionVerdict[]
  /** Consecutive unparseable verdicts. */
  readonly parse_failures: number
  /** An evaluation that started and has not ended. */
  readonly open: {
    readonly start_id: EventId
    readonly response_event_id: EventId
    readonly iteration: number
    readonly trigger: MissionTrigger
  } | null
  /** The last graded answer and its verdict. */
  readonly graded: { readonly response_id: EventId; readonly verdict_id: EventId } | null
  /** A verdict that asked for another round, until that round is queued. */
  readonly owed: EventId | null
  /** The event by which an operator paused or cancelled the mission; null after a resume. */
  readonly halted_at: EventId | null
  /** Tool calls since the last verdict. */
  readonly calls: number
  /** Consecutive verdicts on rounds without a tool call. */
  readonly idle: number
  /** Spending of the whole tree since the definition. */
  readonly spending: Spending
}
export type MissionState = Mission | null

export function foldMission(mission: MissionState, event: SessionEvent): MissionState {
  if (event.type === 'mission.defined') return begin(event)
  if (mission === null) return null
  const moved = move(mission, event)
  // Usage outside the mission's active time is not charged to it.
  if (isMissionOver(mission.status) && event.type !== 'mission.evaluation.end') return moved
  const spending = spends(event) ? foldSpending(moved.spending, event) : moved.spending
  return spending === moved.spending ? moved : { ...moved, spending }
}

/** The mission's time counts from its definition, not from the first wake-up. */
const spends = ({ type }: SessionEvent): boolean =>
  type === 'worker.spawned' ||
  type === 'worker.complete' ||
  type === 'worker.failed' ||
  factsOf(type).usage === true

/** A mission that a new mission or goal must not replace silently. */
export const isMissionUnderWay = (mission: MissionState): mission is Mission =>
  mission !== null && !isMissionOver(mission.status)

const begin = ({ id, created_at, data }: EventOf<'mission.defined'>): Mission => ({
  mission_id: data.mission_id,
  kind: data.kind,
  description: data.description,
  rubric: data.rubric,
  max_iterations: data.max_iterations,
  budget: data.budget ?? null,
  status: 'active',
  defined_at: id,
  started_at: created_at,
  round_from: id,
  iteration: 0,
  verdicts: [],
  parse_failures: 0,
  open: null,
  graded: null,
  owed: null,
  halted_at: null,
  calls: 0,
  idle: 0,
  spending: { ...noSpending, since: created_at },
})

function move(mission: Mission, event: SessionEvent): Mission {
  switch (event.type) {
    case 'mission.evaluation.start': {
      const { response_event_id, iteration, trigger } = event.data
      return { ...mission, open: { start_id: event.id, response_event_id, iteration, trigger } }
    }
    case 'mission.evaluation.end':
      return judged(mission, event)
    case 'mission.continuation':
      return { ...mission, owed: null, round_from: event.id }
    case 'mission.paused':
      return { ...mission, status: 'paused', halted_at: event.id }
    case 'mission.resumed':
      return {
        ...mission,
        status: 'active',
        halted_at: null,
        parse_failures: 0,
        idle: 0,
        owed: null,
        round_from: event.id,
      }
    case 'mission.cancelled':
      return { ...mission, status: 'cancelled', open: null, owed: null, halted_at: event.id }
    // The end of a turn discards its open evaluation: what was not graded is not a round.
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      return mission.open === null ? mission : { ...mission, open: null }
    case 'tool.call':
      return { ...mission, calls: mission.calls + 1 }
    default:
      return mission
  }
}

/**
 * A mission that was paused during its evaluation keeps the verdict: a final one ends the mission, any other
 * leaves it paused.
 */
function judged(mission: Mission, { id, created_at, data }: EventOf<'mission.evaluation.end'>): Mission {
  const { iteration, result, trigger, explanation, feedback, parse_failed } = data
  const verdict = {
    iteration,
    result,
    trigger,
    explanation,
    feedback,
    parse_failed,
    event_id: id,
    at: created_at,
  }
  return {
    ...mission,
    status: statusAfter(mission.status, result),
    open: null,
    graded:
      mission.open === null
        ? mission.graded
        : { response_id: mission.open.response_event_id, verdict_id: id },
    iteration,
    verdicts: [...mission.verdicts, verdict],
    parse_failures: parse_failed ? mission.parse_failures + 1 : 0,
    owed: result === 'needs_revision' ? id : null,
    calls: 0,
    idle: mission.calls === 0 ? mission.idle + 1 : 0,
  }
}

/** The status of a mission after a verdict. */
export function statusAfter(status: MissionStatus, result: EvaluationResult): MissionStatus {
  if (result === 'needs_revision') return status
  return status === 'paused' && !isMissionOver(result) ? 'paused' : result
}
