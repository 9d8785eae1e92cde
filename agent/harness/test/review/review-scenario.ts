/** A session that is looked back over after every turn: something to remember, and a skill to propose. */
import type { ConfigInput } from '@cairn/protocol'
import type { ScenarioInput } from '@cairn/scripted-model'
import { call, say } from '../turn/stage.ts'

export const SKILL = {
  name: 'sow-beans',
  description: 'How beans are sown here',
  body: 'Sow $ARGUMENTS in rows.',
}
export const FOUND = { memory: ['The user gardens in clay', 'The user likes short answers'], skills: [SKILL] }
export const reviewedAgent: NonNullable<ConfigInput['agents']>[string] = {
  review: { memory: true, skills: true, every_turns: 1 },
}
export const reviewScenario = (found: Record<string, unknown> = FOUND): ScenarioInput => ({
  rules: [
    {
      name: 'review',
      when: { schema: 'session_review' },
      answer: { json: found, usage: { input_tokens: 200, output_tokens: 50 } },
    },
    { when: { user: '^Sow' }, answer: say('They are sown.') },
    { when: { user: 'second' }, answer: say('Yes.') },
    { steps: [call('note', 'beans'), say('Sown.')] },
  ],
})
