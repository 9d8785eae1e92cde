/** Sessions of runs that ended long ago are archived; archiving a session archives its runs first. */
import type { LogStore } from '@cairn/log'
import { addMessage, archiveSession, runSchedule, stopSession } from '@cairn/sessions'
import { checkTree } from '@cairn/verify'
import { describe, expect, test } from 'vitest'
import { alice, readLog, say, setStage, typesOf } from '../turn/stage.ts'
import {
  addSchedule,
  CONFIG,
  depsOf,
  fireDue,
  HOUR,
  makeWall,
  MINUTE,
  resultsOf,
  runsOf,
  STORES,
} from './schedule-stage.ts'

const DAY = 24 * HOUR
const KEPT = CONFIG.schedules.keep_runs_days * DAY

describe.each(STORES)('on %s', (_, open) => {
  async function begin() {
    const wall = makeWall()
    const place = await open(wall.now)
    const stage = await setStage({
      scenario: { rules: [{ answer: say('Yes.') }] },
      store: place.store,
      limits: { drain_s: 0 },
    })
    const deps = depsOf(place.store, wall.now)
    return {
      wall,
      stage,
      deps,
      store: place.store,
      /** Starts runs by hand, one after the other, and stops each at once. */
      async run(times: number): Promise<string[]> {
        const { id } = await addSchedule(deps, stage.session_id, { cron: '0 0 29 2 *' })
        for (let nth = 0; nth < times; nth++) {
          wall.advance(MINUTE)
          await runSchedule(deps, id)
          const running = (await runsOf(place.store, id)).find(({ status }) => status === 'running')
          await stopSession(deps, running?.run_session_id ?? '')
        }
        return (await runsOf(place.store, id)).map(({ run_session_id }) => run_session_id ?? '')
      },
      async [Symbol.asyncDispose]() {
        await stage[Symbol.asyncDispose]()
        await place.remove()
      },
    }
  }
  const statusOf = async (store: LogStore, ids: readonly string[]) =>
    Promise.all(ids.map(async id => (await store.sessions.get(id))?.status))

  test('a run is archived keep_runs_days after its end, by any process that claims its timer, and its log stays', async () => {
    await using at = await begin()
    const { deps, wall, store } = at
    const runs = await at.run(2)
    wall.advance(KEPT - 2 * MINUTE)
    await fireDue(deps)
    expect(await statusOf(store, runs)).toEqual(['completed', 'completed'])
    wall.advance(MINUTE)
    await fireDue(deps)
    expect(await statusOf(store, runs)).toEqual(['archived', 'completed'])
    wall.advance(MINUTE)
    await Promise.all([fireDue(deps, 'one'), fireDue(deps, 'two')])
    expect(await statusOf(store, runs)).toEqual(['archived', 'archived'])
    expect(typesOf(await readLog(store, runs[0] ?? ''))).toContain('session.complete')
    expect(await resultsOf(store, at.stage.session_id)).toHaveLength(2)
    wall.advance(100 * DAY)
    expect(await fireDue(deps)).toBe(0)
    expect(await store.check()).toEqual([])
  })

  /** Promise 14.17: Sessions of old scheduled runs are archived unless someone continues them. */
  test('a run that a person continues stays until keep_runs_days after its new end', async () => {
    await using at = await begin()
    const { deps, wall, store } = at
    const runs = await at.run(1)
    const [session_id = ''] = runs
    wall.advance(KEPT - HOUR)
    await addMessage(deps, { session_id, content: 'and then?', principal: alice, on_question: 'pass_over' })
    // It is active without a runner, which may last.
    wall.advance(2 * KEPT)
    await fireDue(deps)
    expect(await statusOf(store, runs)).toEqual(['active'])
    const harness = at.stage.start()
    await expect.poll(() => statusOf(store, runs), { timeout: 20_000 }).toEqual(['completed'])
    await harness.stop()
    wall.advance(KEPT - HOUR)
    await fireDue(deps)
    expect(await statusOf(store, runs)).toEqual(['completed'])
    wall.advance(2 * HOUR)
    await fireDue(deps)
    expect(await statusOf(store, runs)).toEqual(['archived'])
    expect(await store.check()).toEqual([])
  })

  /** Promise 14.17: Archiving a session with thousands of runs blocks no other commit. */
  test('archiving a session archives its runs first, each in its own commit', async () => {
    await using at = await begin()
    const { deps, store, stage } = at
    const runs = await at.run(60)
    const { id } = await addSchedule(deps, stage.session_id, { name: 'Under way' })
    await runSchedule(deps, id)
    const sizes: number[] = []
    const commit: LogStore['commit'] = given => {
      sizes.push(given.also?.length ?? 0)
      return store.commit(given)
    }
    await archiveSession({ ...deps, store: { ...store, commit } }, await stage.session())
    const [open] = await runsOf(store, id)
    const all = [...runs, open?.run_session_id ?? '', stage.session_id]
    expect(new Set(await statusOf(store, all))).toEqual(new Set(['archived']))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1)
    expect(open).toMatchObject({ status: 'failed', reason: 'cancelled' })
    expect(await resultsOf(store, stage.session_id)).toHaveLength(61)
    const logs = await Promise.all(
      [stage.session_id, ...all.slice(0, -1)].map(async each => readLog(store, each)),
    )
    expect(checkTree(new Map(logs.map(log => [log[0]?.session_id ?? '', log])))).toEqual([])
    expect(await store.check()).toEqual([])
  })
})
