/** A goal that takes two turns: one effect, a verdict that asks for more, a second try that satisfies. */
import { fileURLToPath } from 'node:url'
import type { ScenarioInput } from '@cairn/scripted-model'
import { call, say } from './stage.ts'

export const REVISE = { json: { result: 'needs_revision', explanation: 'once', feedback: 'note it again' } }
export const SATISFIED = { json: { result: 'satisfied', explanation: 'twice', feedback: '' } }

export const goalScenario: ScenarioInput = {
  rules: [
    { when: { schema: 'outcome_verdict', user: 'second try' }, answer: SATISFIED },
    { when: { schema: 'outcome_verdict' }, answer: REVISE },
    { when: { user: 'goal is not reached' }, answer: say('second try') },
    { steps: [call('note', 'first'), say('first try')] },
  ],
}

/** Skills of the tests: `review`, with a file beside it, and `plain`, without. */
export const SKILLS_DIR = fileURLToPath(new URL('skills', import.meta.url))
/** Answers only to the expanded text of the review skill. */
export const skillScenario: ScenarioInput = {
  rules: [{ when: { user: '^Look at the parser closely' }, steps: [call('note', 'first'), say('reviewed')] }],
}
