/** The goal of a session as the API shows it. */
import type { LogStore } from '@cairn/log'
import type { GoalView } from '@cairn/protocol'
import { readFolded } from '../read-folded.ts'

/** The last goal, even if it is over; null if none was set or it was cleared. */
export async function viewGoal(store: LogStore, sessionId: string): Promise<GoalView | null> {
  const { goal } = (await readFolded(store, sessionId)).states
  if (goal === null) return null
  const { outcome_id, description, rubric, max_iterations, status, started_at, iteration, verdicts } = goal
  return {
    outcome_id,
    description,
    rubric: { type: 'text', content: rubric },
    max_iterations,
    status,
    started_at,
    iteration,
    evaluating: goal.open !== null,
    spent: { tokens: goal.spent.tokens, cost_usd: Number(goal.spent.cost_usd.toFixed(10)) },
    verdicts: verdicts.map(({ event_id, iteration, result, explanation, feedback, parse_failed }) => ({
      event_id,
      iteration,
      result,
      explanation,
      feedback,
      parse_failed,
    })),
  }
}
