/**
 * The process that acts on a schedule dies just before and after each of its commits, on both stores: each
 * scheduled time has one run, each result is delivered once, and the times that passed meanwhile are
 * recorded.
 */
import { type LogStore, openPostgresStore } from '@cairn/log'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory, checkTree } from '@cairn/verify'
import { fireTimer, runSchedule } from '@cairn/sessions'
import { describe, expect, test } from 'vitest'
import { dyingStore } from '../turn/dying-store.ts'
import { call, readLog, say, setStage, type Stage } from '../turn/stage.ts'
import { type Death, deathsOf, type OpenStore, withDeath } from '../turn/with-death.ts'
import {
  addSchedule,
  depsOf,
  fireDue,
  makeWall,
  MINUTE,
  resultsOf,
  runsOf,
  said,
  STORES,
  untilTold,
} from './schedule-stage.ts'

const SCENARIO = {
  rules: [
    { when: { user: 'look at the weather' }, steps: [call('note', 'rain'), say('It rains.')] },
    { answer: say('Yes.') },
  ],
}

describe.each(STORES)('on %s, the process that fires a timer dies', (_, open) => {
  test.each(['before', 'after'] as const)('just %s its commit', async when => {
    const wall = makeWall()
    const place = await open(wall.now)
    await using stage = await setStage({ scenario: SCENARIO, store: place.store })
    const deps = depsOf(place.store, wall.now)
    const { id, created_at } = await addSchedule(deps, stage.session_id)
    wall.advance(MINUTE)
    const dying = dyingStore(place.store, 0, when)
    const [timer] = await place.store.timers.claim('dead', 50, 30_000)
    if (timer === undefined) throw new Error('nothing is due')
    await expect(fireTimer({ ...deps, store: dying.store }, timer)).rejects.toThrow('dead')
    // Its claim blocks all other processes from this scheduled time, for a while.
    expect(await fireDue(deps)).toBe(0)
    wall.advance(31_000)
    expect(await fireDue(deps)).toBe(when === 'before' ? 1 : 0)
    expect(said(await runsOf(place.store, id), created_at)).toEqual(['1 running'])
    wall.advance(MINUTE)
    await fireDue(deps)
    expect(said(await runsOf(place.store, id), created_at)).toEqual(['1 running', '2 skipped overlap'])
    expect(await place.store.check()).toEqual([])
    await stage[Symbol.asyncDispose]()
    await place.remove()
  })
})

const onPostgres: OpenStore = async now => {
  const { place, remove } = await borrowPostgresPlace()
  return { store: await openPostgresStore({ url: place, now }), remove }
}
type Scene = { stage: Stage; id: string }
const play = (death: Death, open?: OpenStore) =>
  withDeath<
    Scene,
    Scene & { store: LogStore; runs: string[]; logs: Map<string, Awaited<ReturnType<typeof readLog>>> }
  >(
    {
      async set(store) {
        const stage = await setStage({ scenario: SCENARIO, store })
        // The takeover moves the clock by a minute. No scheduled time may pass in it.
        const { id } = await addSchedule(stage.deps, stage.session_id, { every_s: 3600 })
        await runSchedule(stage.deps, id)
        return { stage, id }
      },
      play: ({ stage }) => untilTold(stage, 1),
      async look({ stage, id }) {
        const runs = await runsOf(stage.store, id)
        const run = runs[0]?.run_session_id ?? ''
        const logs = new Map([
          [stage.session_id, await stage.events()],
          [run, await readLog(stage.store, run)],
        ])
        const outcome = runs.map(({ status, reason }) => `${status} ${reason}`)
        expect((await resultsOf(stage.store, stage.session_id)).length).toBe(1)
        expect((await stage.store.schedules.get(id))?.state).toMatchObject({
          running: null,
          run_count: 1,
        })
        return { stage, id, store: stage.store, runs: outcome, logs }
      },
    },
    death,
    open,
  )

describe('the runner of a scheduled run dies', async () => {
  const { commits } = await play(null)
  const deaths = deathsOf(commits)

  async function judge(death: Death, open?: OpenStore): Promise<void> {
    const { seen, problems } = await play(death, open)
    expect(problems).toEqual([])
    // An interrupted call that must not be repeated fails, and the model continues.
    expect(seen.runs).toEqual(['success success'])
    for (const log of seen.logs.values()) expect(checkHistory(log, { settled: true })).toEqual([])
    expect(checkTree(seen.logs)).toEqual([])
    expect(seen.stage.ran.length).toBeLessThanOrEqual(1)
  }
  /**
   * Promise 14.17: A schedule starts one run and delivers one result, even if the process dies at any commit.
   */
  test.each(oneIn(4, deaths))('just $when commit $nth, and the result is delivered once', death =>
    judge(death),
  )
  test.each(oneIn(8, deaths))(
    'on Postgres, just $when commit $nth, and the result is delivered once',
    death => judge(death, onPostgres),
  )
})
