/**
 * What an evaluation comes to: what the evaluator said, and the guards that end a loop which gets nowhere
 * (contract 10). Pure; the goal's fold says how often it was judged and what was said then.
 */
import type { AgentConfig } from '@cairn/protocol'
import { type EvaluationResult, type Goal, isIdle } from '@cairn/state'
import { z } from 'zod'
import { jsonWithin } from '../llm/json-answer.ts'

export type Conclusion = {
  result: EvaluationResult
  explanation: string
  feedback: string
  parse_failed: boolean
}
type Spent = Goal['spent']

/** So many unreadable verdicts in a row pause the goal; so many without progress block it. */
const PARSE_FAILURES = 3
const STUCK = 3

export const Verdict = z.strictObject({
  result: z
    .enum(['satisfied', 'needs_revision', 'blocked', 'failed'])
    .describe(
      'satisfied: every point of the rubric is met. needs_revision: more work can meet it. blocked: ' +
        'only somebody else can remove what is in the way. failed: it cannot be reached.',
    ),
  explanation: z.string().describe('why, point by point of the rubric, in a few sentences'),
  feedback: z.string().describe('for needs_revision: what exactly the agent must do next; else empty'),
})

/** The verdict within an answer, or null when there is none. */
export function readVerdict(text: string): z.infer<typeof Verdict> | null {
  try {
    return z.object(Verdict.shape).parse(JSON.parse(jsonWithin(text)))
  } catch {
    // Unreadable is an outcome here, and it is counted.
    return null
  }
}

/** `overspent` names the budget that is used up, this evaluation included. */
export function conclude(goal: Goal, text: string, overspent: string | null): Conclusion {
  const said = readVerdict(text)
  if (said !== null && said.result !== 'needs_revision') return { ...said, parse_failed: false }
  const parse_failed = said === null
  if (parse_failed && goal.parse_failures + 1 >= PARSE_FAILURES)
    return {
      result: 'paused',
      explanation: `The answer of the evaluator could not be read ${PARSE_FAILURES} times in a row.`,
      feedback: '',
      parse_failed,
    }
  const explanation = said?.explanation ?? 'The answer of the evaluator could not be read.'
  const feedback = said === null ? '' : said.feedback.trim() || said.explanation
  if (goal.iteration + 1 >= goal.max_iterations)
    return { result: 'max_iterations_reached', explanation, feedback, parse_failed }
  if (overspent !== null)
    return { result: 'failed', explanation: `${overspent} ${explanation}`, feedback, parse_failed }
  const stuck = findStuck(goal, feedback)
  if (stuck !== null)
    return { result: 'blocked', explanation: `${stuck} ${explanation}`, feedback, parse_failed }
  return { result: 'needs_revision', explanation, feedback, parse_failed }
}

const normalise = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, ' ').trim()

function findStuck(goal: Goal, feedback: string): string | null {
  const before = goal.verdicts.slice(1 - STUCK)
  if (
    feedback !== '' &&
    before.length === STUCK - 1 &&
    before.every(verdict => normalise(verdict.feedback) === normalise(feedback))
  )
    return `No progress: the same was missing ${STUCK} times in a row.`
  return isIdle(goal.work) && goal.idle + 1 >= STUCK
    ? `No progress: ${STUCK} turns in a row called no tool and answered the same.`
    : null
}

/**
 * Which budget of the goal is used up, in words; null when none is. Time is wall time since the goal was
 * defined, in milliseconds.
 */
export function findOverspent(
  budgets: AgentConfig['goals'],
  goal: Pick<Goal, 'started_at'>,
  spent: Spent,
  now: number,
): string | null {
  const { max_tokens, max_cost_usd, max_minutes } = budgets
  const minutes = (now - Date.parse(goal.started_at)) / 60_000
  if (max_tokens !== undefined && spent.tokens >= max_tokens)
    return `The token budget of the goal is used up: ${spent.tokens} of ${max_tokens}.`
  if (max_cost_usd !== undefined && spent.cost_usd >= max_cost_usd)
    return `The cost budget of the goal is used up: ${spent.cost_usd.toFixed(4)} of ${max_cost_usd} USD.`
  if (max_minutes !== undefined && minutes >= max_minutes)
    return `The time budget of the goal is used up: ${Math.floor(minutes)} of ${max_minutes} minutes.`
  return null
}

/** `findOverspent` for the goal of a session; null as well when none is active. */
export const findOverspentGoal = (
  goal: Goal | null,
  budgets: AgentConfig['goals'],
  now: number,
): string | null => (goal?.status === 'active' ? findOverspent(budgets, goal, goal.spent, now) : null)
