/** A turn that the advisor corrects before it ends: two effects instead of one. */
import type { ConfigInput } from '@cairn/protocol'
import type { ScenarioInput } from '@cairn/scripted-model'
import { call, say } from '../turn/stage.ts'

export const ADVISES = 'You advise another agent'
export const advisorScenario: ScenarioInput = {
  rules: [
    {
      name: 'advice',
      when: { system: ADVISES },
      answer: { text: 'Note the second one too.', usage: { input_tokens: 70, output_tokens: 30 } },
    },
    { when: { user: 'Advice on this task' }, steps: [call('note', 'second'), say('Both are noted.')] },
    { steps: [call('note', 'first'), say('Noted.')] },
  ],
}
export const advisedAgent: NonNullable<ConfigInput['agents']>[string] = { advisor: { model: 'demo/advisor' } }
