/** The turn that kill tests cut everywhere, on whichever store. */
import { type Death, type OpenStore, withDeath } from './with-death.ts'
import { say, setStage } from './stage.ts'

const tool = (name: string, args: Record<string, unknown>) => ({ name, arguments: args })
/**
 * Reading side by side, effects that must happen once, a plan, a file, an artifact, reasoning, and an answer.
 */
export const golden = {
  rules: [
    {
      steps: [
        {
          reasoning: 'First I look around.',
          tool_calls: [
            tool('look', { value: '1' }),
            tool('look', { value: '2' }),
            tool('note', { value: 'first' }),
          ],
        },
        {
          tool_calls: [
            tool('note', { value: 'second' }),
            tool('todo', { todos: [{ id: '1', content: 'do it', status: 'completed' }] }),
          ],
        },
        {
          tool_calls: [
            tool('write_file', { path: 'out.txt', content: 'hello' }),
            tool('create_artifact', { name: 'Report', spec: { kind: 'markdown', content: '# Report' } }),
          ],
        },
        say('All done.'),
      ],
    },
  ],
}

export const playGolden = (death: Death, open?: OpenStore) =>
  withDeath(
    {
      set: async store => ({ stage: await setStage({ scenario: golden, store }) }),
      play: async ({ stage }) => {
        await stage.send('go')
        await stage.next('session.complete')
      },
      look: ({ stage }) => [...stage.ran],
    },
    death,
    open,
  )
