/**
 * The goal of a session as a fold of its log (contract 10.8). One goal is active at a time.
 *
 *   none    ─ user.define_outcome | outcome.defined ─▶ active
 *   active  ─ span.outcome_evaluation_end ─▶ active (needs_revision) | satisfied | blocked | failed |
 *                                            max_iterations_reached | paused
 *   active  ─ outcome.paused ─▶ paused
 *   paused  ─ a user.message with synthetic "outcome_resumed" ─▶ active
 *   any     ─ outcome.cleared ─▶ none
 *
 * The contract has no event for a resume; the message that restarts the work represents it.
 */
import {
  type EVALUATION_RESULTS,
  type EventId,
  factsOf,
  type GOAL_STATUSES,
  type SessionEvent,
} from '@cairn/protocol'
import { usageOf } from '../usage.ts'

export type EvaluationResult = (typeof EVALUATION_RESULTS)[number]
export type Verdict = {
  iteration: number
  result: EvaluationResult
  explanation: string
  feedback: string
  parse_failed: boolean
  event_id: EventId
  cost_usd: number
  tokens: number
}
export type GoalStatus = (typeof GOAL_STATUSES)[number]

export type Goal = {
  readonly outcome_id: string
  readonly description: string
  readonly rubric: string
  readonly max_iterations: number
  readonly status: GoalStatus
  /** The event that defined the goal; its cost is what the log spent since. */
  readonly defined_at: EventId
  readonly started_at: string
  /** Finished evaluations. */
  readonly iteration: number
  readonly verdicts: readonly Verdict[]
  /** Consecutive unparseable verdicts. */
  readonly parse_failures: number
  /** An evaluation that started and has not ended. */
  readonly open: { start_id: EventId; response_event_id: EventId; iteration: number; ongoing: boolean } | null
  /**
   * A verdict that asked for more work and whose continuation is not queued yet: its event, and whether the
   * continuation event exists.
   */
  readonly owed: { verdict_id: EventId; continuation: boolean } | null
  /** Tool calls since the last verdict, the newest answer, and the last graded answer. */
  readonly work: { calls: number; answer: string; graded: string | null }
  /** Consecutive verdicts on turns that called no tool and repeated the answer. */
  readonly idle: number
  /** Tokens and cost of the session since the goal was defined, evaluations included. */
  readonly spent: { tokens: number; cost_usd: number }
}
export type GoalState = Goal | null

/** `action_type` of the inbox item that shows a person what a blocked goal waits for. */
export const GOAL_BLOCKED = 'goal_blocked'

export function foldGoal(goal: GoalState, event: SessionEvent): GoalState {
  if (event.type === 'user.define_outcome' || event.type === 'outcome.defined') {
    const { outcome_id, description, rubric, max_iterations } = event.data
    return {
      outcome_id,
      description,
      rubric: rubric.content,
      max_iterations,
      status: 'active',
      defined_at: event.id,
      started_at: event.created_at,
      iteration: 0,
      verdicts: [],
      parse_failures: 0,
      open: null,
      owed: null,
      work: { calls: 0, answer: '', graded: null },
      idle: 0,
      spent: { tokens: 0, cost_usd: 0 },
    }
  }
  if (goal === null) return null
  const next = move(goal, event)
  if (next === null || !factsOf(event.type).usage) return next
  // An evaluation of a goal that was replaced in the meantime does not count for this goal.
  const isOfOther = event.type === 'span.outcome_evaluation_end' && event.data.outcome_id !== goal.outcome_id
  return isOfOther ? next : spend(next, event)
}

function move(goal: Goal, event: SessionEvent): GoalState {
  switch (event.type) {
    case 'span.outcome_evaluation_start':
      if (event.data.outcome_id !== goal.outcome_id) return goal
      return {
        ...goal,
        open: {
          start_id: event.id,
          response_event_id: event.data.response_event_id,
          iteration: event.data.iteration,
          ongoing: false,
        },
      }
    case 'span.outcome_evaluation_ongoing':
      return goal.open === null || event.data.outcome_id !== goal.outcome_id
        ? goal
        : { ...goal, open: { ...goal.open, ongoing: true } }
    case 'span.outcome_evaluation_end': {
      if (event.data.outcome_id !== goal.outcome_id) return goal
      const { iteration, result, explanation, feedback, parse_failed } = event.data
      const verdict: Verdict = {
        iteration,
        result,
        explanation,
        feedback,
        parse_failed,
        event_id: event.id,
        ...spentOf(event),
      }
      // A goal that was paused during its evaluation stays paused; the verdict still counts.
      const status = result === 'needs_revision' ? goal.status : result
      return {
        ...goal,
        status: goal.status === 'paused' && status !== 'satisfied' ? 'paused' : status,
        open: null,
        iteration: goal.iteration + 1,
        verdicts: [...goal.verdicts, verdict],
        parse_failures: parse_failed ? goal.parse_failures + 1 : 0,
        owed: result === 'needs_revision' ? { verdict_id: event.id, continuation: false } : null,
        idle: isIdle(goal.work) ? goal.idle + 1 : 0,
        work: { ...goal.work, calls: 0, graded: goal.work.answer },
      }
    }
    case 'outcome.continuation':
      return goal.owed === null ? goal : { ...goal, owed: { ...goal.owed, continuation: true } }
    case 'user.message': {
      if (event.data.outcome_id !== goal.outcome_id) return goal
      if (event.data.synthetic === 'outcome_continuation') return { ...goal, owed: null }
      return event.data.synthetic === 'outcome_resumed' && goal.status === 'paused'
        ? { ...goal, status: 'active', parse_failures: 0, idle: 0, owed: null }
        : goal
    }
    case 'outcome.paused':
      return event.data.outcome_id === goal.outcome_id && goal.status === 'active'
        ? { ...goal, status: 'paused' }
        : goal
    case 'outcome.cleared':
      return null
    // The end of a turn discards its open evaluation: what was not graded is not an iteration.
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      return goal.open === null ? goal : { ...goal, open: null }
    case 'tool.call':
      return { ...goal, work: { ...goal.work, calls: goal.work.calls + 1 } }
    case 'llm.response': {
      const { finish_reason, message } = event.data
      return finish_reason === 'command' ? goal : { ...goal, work: { ...goal.work, answer: message.content } }
    }
    default:
      return goal
  }
}

/** No tool was called since the last verdict, and the answer equals the one graded then. */
export const isIdle = ({ calls, answer, graded }: Goal['work']): boolean =>
  calls === 0 && graded !== null && answer === graded

const spentOf = (event: SessionEvent): Goal['spent'] => {
  const { input_tokens, output_tokens, cost_usd } = usageOf(event)
  return { tokens: input_tokens + output_tokens, cost_usd }
}

function spend(goal: Goal, event: SessionEvent): Goal {
  const { tokens, cost_usd } = spentOf(event)
  return {
    ...goal,
    spent: { tokens: goal.spent.tokens + tokens, cost_usd: goal.spent.cost_usd + cost_usd },
  }
}
