/** The turn of kill-at-every-event.test.ts on Postgres. */
import { openPostgresStore } from '@cairn/log'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { essence, sorted } from '../golden/essence.ts'
import { playGolden } from './golden-turn.ts'
import { deathsOf, type OpenStore } from './with-death.ts'

const onPostgres: OpenStore = async now => {
  const { place, remove } = await borrowPostgresPlace()
  return { store: await openPostgresStore({ url: place, now }), remove }
}
const undisturbed = await playGolden(null, onPostgres)

/** Promise 9: The crash matrix passes on Postgres. */
test.each(oneIn(12, deathsOf(undisturbed.commits)))(
  'on Postgres, killed just $when commit $nth, ends the session the same way and repeats no effect',
  async death => {
    const { events, seen: ran, problems } = await playGolden(death, onPostgres)
    expect([problems, checkHistory(events, { settled: true })]).toEqual([[], []])
    expect(sorted(essence(events))).toEqual(sorted(essence(undisturbed.events)))
    const noted = ran.filter(value => value.startsWith('note:'))
    expect(noted.toSorted()).toEqual([...new Set(noted)].toSorted())
  },
)
