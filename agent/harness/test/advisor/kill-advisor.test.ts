/**
 * A session with an advisor, killed at every commit of the runner: each advisor point is asked once, no
 * effect happens twice, and the turn ends.
 */
import type { SessionEvent } from '@cairn/protocol'
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { essence } from '../golden/essence.ts'
import { compareGolden } from '../golden/golden-file.ts'
import { setStage } from '../turn/stage.ts'
import { deathsOf, type Death, withDeath } from '../turn/with-death.ts'
import { advisedAgent, advisorScenario } from './advisor-scenario.ts'

const run = (death: Death) =>
  withDeath(
    {
      set: async store => ({
        stage: await setStage({ scenario: advisorScenario, agent: advisedAgent, store }),
      }),
      async play({ stage }) {
        await stage.send('note both')
        await stage.next('session.complete')
      },
      look: ({ stage }) => stage.ran,
    },
    death,
  )
const undisturbed = await run(null)
const advice = (events: readonly SessionEvent[]): string[] =>
  events.flatMap(event => (event.type === 'advisor.result' ? [event.data.content] : []))

test('the advised session matches the golden log of this version byte for byte', () => {
  expect(checkHistory(undisturbed.events, { settled: true })).toEqual([])
  const { golden, now } = compareGolden('advisor', undisturbed.events)
  expect(now).toBe(golden)
})

/** Promise 1: Each advisor point of a turn calls the advisor at most once, wherever the runner dies. */
test.each(oneIn(4, deathsOf(undisturbed.commits)))(
  'the advised session killed just $when commit $nth ends and asks the advisor once per point',
  async death => {
    const { events, problems, seen: ran } = await run(death)
    // The rules of every log allow one advisor request per point and one end per request.
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(problems).toEqual([])
    expect(events.filter(event => event.type === 'advisor.request')).toHaveLength(1)
    expect(new Set(ran).size).toBe(ran.length)
    // A death during the advisor call loses the advice and what would follow from it. Any other death loses
    // nothing.
    if (events.some(event => event.type === 'advisor.failure')) expect(ran).toEqual(['note:first'])
    else
      expect([essence(events), advice(events)]).toEqual([
        essence(undisturbed.events),
        advice(undisturbed.events),
      ])
  },
)
