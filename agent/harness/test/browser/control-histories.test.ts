/**
 * Control of a session's browser in any order of events: calls of the agent; two people and an administrator
 * who take and return control; pages that open and close; time that passes; browsers and runners that die.
 * Every resulting history is legal.
 */
import { rounds } from '@cairn/protocol/test/sample'
import { checkHistory } from '@cairn/verify'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { seeded } from '../simulation/world.ts'
import { type Act, openControlPlace, playControl } from './control-world.ts'

const HISTORIES = rounds(40, 400)

const who = fc.constantFrom('ann' as const, 'ben' as const, 'root' as const)
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      calls: fc.constantFrom(1 as const, 2 as const),
      long: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('acquire' as const), who, force: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('release' as const, 'watch' as const, 'leave' as const),
      who,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1_000, 6_000, 21_000, 61_000, 95_000, 16 * 60_000, 61 * 60_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('close' as const, 'delete' as const, 'crash' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('death' as const, 'move' as const, 'settle' as const) }),
  },
)

const BEGIN: Act[] = [{ do: 'call', calls: 1, long: false }, { do: 'settle' }]
const seen = { histories: 0, events: 0, granted: 0, browsers: 0 }

const place = await openControlPlace()
afterAll(() => place.store.close())

/** Promise 14.19: A browser starts once, ends once and has one driver at a time, in any order of events. */
test('property: every history of a browser and its controllers is legal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 40 }), fc.integer(), async (acts, seed) => {
      const { events, wrong } = await playControl(place, BEGIN.concat(acts), seeded(seed))
      expect(wrong).toEqual([])
      expect(checkHistory(events)).toEqual([])
      const count = (type: string) => events.filter(event => event.type === type).length
      expect(count('browser.destroyed')).toBe(count('browser.provisioned'))
      expect(count('browser.control_returned')).toBe(count('browser.control_granted'))
      seen.histories += 1
      seen.events += events.length
      seen.granted += count('browser.control_granted')
      seen.browsers += count('browser.provisioned')
    }),
    { numRuns: HISTORIES },
  )
  console.info(seen)
}, 600_000)
