/** Progress of a coding agent: all of its text arrives, with at most two events per second. */
import { createStreamRedactor } from '@cairn/log'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fakeClock } from '../../../test/turn/fake-clock.ts'
import { createProgress, type ProgressChunk } from './progress.ts'

/** `wait` in tenths of a second. */
type Step = { say: string } | { tool: string } | { plan: string } | { wait: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ say: fc.string({ minLength: 1, maxLength: 30 }) }) },
  { weight: 2, arbitrary: fc.record({ tool: fc.string({ minLength: 1, maxLength: 10 }) }) },
  { weight: 1, arbitrary: fc.record({ plan: fc.string({ minLength: 1, maxLength: 10 }) }) },
  { weight: 3, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 20 }) }) },
)

/** Promise 14.18: The joined progress texts are the agent's text, with at most two events per second. */
test('property: the joined chunks are the agent’s text, and each event is followed by half a second of silence', async () => {
  let written = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const clock = fakeClock(0)
      const told: { at: number; pieces: readonly ProgressChunk[] }[] = []
      const progress = createProgress({
        clock,
        streamRedactor: createStreamRedactor(),
        write(pieces) {
          told.push({ at: clock.now(), pieces })
          return Promise.resolve()
        },
        onFailure: thrown => {
          throw thrown
        },
      })
      let text = ''
      for (const [at, each] of steps.entries()) {
        if ('wait' in each)
          for (let tenths = 0; tenths < each.wait; tenths += 1) {
            clock.advance(100)
            // A write is requested in a promise of its own.
            await Promise.resolve()
          }
        else if ('say' in each) {
          text += each.say
          progress.take({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: each.say } })
        } else if ('tool' in each)
          progress.take({ sessionUpdate: 'tool_call', toolCallId: String(at), title: each.tool })
        else {
          const entry = { content: each.plan, priority: 'medium', status: 'pending' } as const
          progress.take({ sessionUpdate: 'plan', entries: [entry] })
        }
      }
      const rest = await progress.finish()
      const all = [...told.flatMap(({ pieces }) => pieces), ...rest]
      expect(all.flatMap(({ kind, chunk }) => (kind === 'text' ? [chunk] : [])).join('')).toBe(text)
      for (const [at, { pieces, at: when }] of told.entries()) {
        const next = told[at + 1]?.at ?? Infinity
        expect(next - when).toBeGreaterThanOrEqual(pieces.length * 500)
      }
      written += all.length
    }),
    { numRuns: 500 },
  )
  console.info(`500 agents, ${written} events`)
})
