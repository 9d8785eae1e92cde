/** The clock is set in the middle of a turn: durations do not change (contract 7). */
import { expect, test } from 'vitest'
import { CLOCK_STEPS_MS } from '@cairn/protocol/test/clock-steps'
import { callTool } from '../../src/tools/call-tool.ts'
import { call, makeBench, makeTool } from '../tools/bench.ts'
import { fakeClock } from './fake-clock.ts'
import { setStage } from './stage.ts'

test.each(CLOCK_STEPS_MS)(
  'a tool that runs for two seconds records two seconds when the clock is set by %d ms',
  async step => {
    await using bench = await makeBench()
    const clock = fakeClock()
    const slow = makeTool('slow', () => {
      clock.advance(1_500)
      clock.step(step)
      clock.advance(500)
      return { content: { done: true } }
    })
    const made = call('slow')
    await callTool(bench.deps({ clock }, [slow]), made)
    expect(await bench.resultOf(made)).toMatchObject({ elapsed_ms: 2_000 })
  },
)

test.each(CLOCK_STEPS_MS)(
  'a model call is not stale and records its true duration when the clock is set by %d ms',
  async step => {
    const clock = fakeClock()
    await using stage = await setStage({
      scenario: { rules: [{ answer: { text: 'Well.' } }] },
      limits: { delta_coalesce_ms: 0 },
      hold: async () => {
        clock.advance(1_000)
        clock.step(step)
      },
    })
    stage.start({ clock })
    await stage.send('How do you do?')
    const { data } = await stage.next('llm.response')
    expect(data.latency_ms).toBe(1_000)
    await stage.next('session.complete')
    expect((await stage.events()).map(({ type }) => type)).not.toContain('llm.heartbeat')
  },
)
