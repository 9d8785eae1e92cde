/**
 * One scripted session for each group of events, as a golden log named by the version that wrote it. Killed
 * at commits of its runner, it ends the same way and repeats nothing.
 */
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory } from '@cairn/verify'
import { describe, expect, test } from 'vitest'
import { type Death, deathsOf, withDeath } from '../turn/with-death.ts'
import { essence } from './essence.ts'
import { TREES } from './trees.ts'
import { compareGolden, parse } from './golden-file.ts'
import { normalise } from './normalise.ts'

for (const { name, set, play } of TREES) {
  const run = (death: Death) => withDeath({ set, play, look: ({ effects }) => effects() }, death)
  const undisturbed = await run(null)
  const { golden, now } = compareGolden(name, undisturbed.events)

  describe(`the ${name} session`, () => {
    /** Promise 10: Each release writes the golden session of its version byte for byte. */
    test('matches the golden log of this version byte for byte', () => {
      expect(checkHistory(undisturbed.events, { settled: true, current: true })).toEqual([])
      // The first logs are older than the normal form.
      expect(now).toBe(normalise(parse(golden)))
    })

    test('has a normal form that normalising leaves unchanged', () => {
      expect(normalise(parse(now))).toBe(now)
    })

    const deaths = deathsOf(undisturbed.commits)
    /**
     * Promise 10: A crash anywhere in a session of any family changes neither its end nor repeats an effect.
     */
    test.each(oneIn(12, deaths))(
      'killed just $when commit $nth, ends the same way and repeats nothing',
      async death => {
        const { events, problems, seen: effects } = await run(death)
        expect(checkHistory(events, { settled: true, current: true })).toEqual([])
        expect(problems).toEqual([])
        expect(essence(events)).toEqual(essence(undisturbed.events))
        expect(effects).toEqual([...new Set(effects)])
      },
    )
  })
}
