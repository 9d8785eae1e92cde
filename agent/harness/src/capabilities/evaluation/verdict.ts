/**
 * The conclusion of an evaluation: the evaluator's verdict, and the guards that end a loop without progress
 * (contract 10). Pure; the fold of a goal or mission provides the number of earlier verdicts and their
 * content.
 */
import type { EvaluationResult } from '@cairn/state'
import { z } from 'zod'
import { jsonWithin } from '@cairn/models'

export type Conclusion = {
  result: EvaluationResult
  explanation: string
  feedback: string
  parse_failed: boolean
}
/** The state of the goal or mission that the guards look at. */
export type Judged = {
  iteration: number
  max_iterations: number
  verdicts: readonly { feedback: string }[]
  parse_failures: number
  /** Consecutive verdicts on work without progress. */
  idle: number
  /** The current standstill, in words that follow a number; null: none. */
  standstill: string | null
}

/** Consecutive unreadable verdicts that pause the goal, and verdicts without progress that block it. */
const PARSE_FAILURES = 3
const STUCK = 3

export const Verdict = z.strictObject({
  result: z
    .enum(['satisfied', 'needs_revision', 'blocked', 'failed'])
    .describe(
      'satisfied: every point of the rubric is met. needs_revision: more work can meet it. blocked: only ' +
        'another person or system can remove the obstacle. failed: it cannot be reached.',
    ),
  explanation: z.string().describe('why, point by point of the rubric, in a few sentences'),
  feedback: z.string().describe('for needs_revision: what exactly the agent must do next; else empty'),
})

/** The verdict within an answer; null: none. */
export function readVerdict(text: string): z.infer<typeof Verdict> | null {
  try {
    return z.object(Verdict.shape).parse(JSON.parse(jsonWithin(text)))
  } catch {
    // An unreadable answer is a valid outcome here, and it is counted.
    return null
  }
}

/** `overspent` names the exhausted budget, with this evaluation included. */
export function conclude(judged: Judged, text: string, overspent: string | null): Conclusion {
  const said = readVerdict(text)
  if (said !== null && said.result !== 'needs_revision') return { ...said, parse_failed: false }
  const parse_failed = said === null
  if (parse_failed && judged.parse_failures + 1 >= PARSE_FAILURES)
    return {
      result: 'paused',
      explanation: `The answer of the evaluator was invalid ${PARSE_FAILURES} times in a row.`,
      feedback: '',
      parse_failed,
    }
  const explanation = said?.explanation ?? 'The answer of the evaluator was invalid.'
  const feedback = said === null ? '' : said.feedback.trim() || said.explanation
  if (judged.iteration + 1 >= judged.max_iterations)
    return { result: 'max_iterations_reached', explanation, feedback, parse_failed }
  if (overspent !== null)
    return { result: 'failed', explanation: `${overspent} ${explanation}`, feedback, parse_failed }
  const stuck = findStuck(judged, feedback)
  if (stuck !== null)
    return { result: 'blocked', explanation: `${stuck} ${explanation}`, feedback, parse_failed }
  return { result: 'needs_revision', explanation, feedback, parse_failed }
}

const normalise = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, ' ').trim()

function findStuck(judged: Judged, feedback: string): string | null {
  const before = judged.verdicts.slice(1 - STUCK)
  if (
    feedback !== '' &&
    before.length === STUCK - 1 &&
    before.every(verdict => normalise(verdict.feedback) === normalise(feedback))
  )
    return `No progress: the same points were missing ${STUCK} times in a row.`
  return judged.standstill !== null && judged.idle + 1 >= STUCK
    ? `No progress: ${STUCK} ${judged.standstill}.`
    : null
}
