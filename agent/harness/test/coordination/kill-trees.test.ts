/**
 * Recorded session trees, killed just before and after each commit of their runner, on both stores: each has
 * the recorded ending, one outcome per worker, and no repeated effect. By default a few deaths of each tree;
 * all with CAIRN_TESTS=all. UPDATE_GOLDEN=1 records the trees again.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type LogStore, openPostgresStore } from '@cairn/log'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import type { SessionEvent } from '@cairn/protocol'
import { oneIn } from '@cairn/protocol/test/sample'
import { checkHistory, checkTree } from '@cairn/verify'
import { describe, expect, test } from 'vitest'
import { essence, sorted } from '../golden/essence.ts'
import { setStage, type Stage } from '../turn/stage.ts'
import { type Death, deathsOf, type OpenStore, withDeath } from '../turn/with-death.ts'
import { type TreeScene, playScene, SCENES, WORKERS } from './tree-scenes.ts'
import { treeLogs, ROOT } from './tree-stage.ts'

const onPostgres: OpenStore = async now => {
  const { place, remove } = await borrowPostgresPlace()
  return { store: await openPostgresStore({ url: place, now }), remove }
}

type Scene = { stage: Stage }
const play = (scene: TreeScene, death: Death, open?: OpenStore) =>
  withDeath<Scene, { logs: Map<string, SessionEvent[]>; ran: string[] }>(
    {
      set: async (store: LogStore) => ({
        stage: await setStage({
          session_id: ROOT,
          scenario: { rules: [...WORKERS, ...scene.rules] },
          ...(scene.tools === undefined ? {} : { tools: scene.tools }),
          store,
        }),
      }),
      play: ({ stage }) => playScene(scene, stage),
      look: async ({ stage }) => ({
        logs: await treeLogs(stage.store, stage.session_id),
        ran: stage.ran,
      }),
    },
    death,
    open,
  )

/** The events of each session of the tree, in an order that ignores parallelism. */
const endings = (logs: ReadonlyMap<string, readonly SessionEvent[]>): string =>
  [...logs.values()]
    .map(log => `${sorted(essence(log)).join('\n')}\n`)
    .toSorted()
    .join('\n')

/** The recorded ending of the tree. */
function recorded(name: string, now: string): string {
  const file = new URL(`golden/${name.replaceAll(' ', '-')}.txt`, import.meta.url)
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, now)
  if (!existsSync(file)) throw new Error(`[golden] ${name} has no record yet: UPDATE_GOLDEN=1 writes it`)
  return readFileSync(file, 'utf8')
}

for (const [name, scene] of Object.entries(SCENES)) {
  const undisturbed = await play(scene, null)
  const golden = recorded(name, endings(undisturbed.seen.logs))
  const deaths = deathsOf(undisturbed.commits)

  async function judge(death: Death, open?: OpenStore): Promise<void> {
    const { seen, problems } = death === null ? undisturbed : await play(scene, death, open)
    expect(problems).toEqual([])
    for (const log of seen.logs.values()) expect(checkHistory(log, { settled: true })).toEqual([])
    expect(checkTree(seen.logs, { settled: true })).toEqual([])
    expect(endings(seen.logs)).toBe(golden)
    const notes = seen.ran.filter(value => value.startsWith('note:'))
    expect(notes.length).toBeLessThanOrEqual(1)
  }

  describe(name, () => {
    test('has the recorded ending', () => judge(null))
    /**
     * Promise 14.5: A research branch's result is harvested once, even if the runner dies at any commit.
     * Promise 1.3: A session tree killed at any commit ends the same way, with one outcome per worker.
     */
    test.each(oneIn(60, deaths))(
      'killed just $when commit $nth, ends the same way and repeats nothing',
      death => judge(death),
    )
    /** Promise 9: On Postgres a session tree killed at any commit ends the same way. */
    test.each(oneIn(120, deaths))('on Postgres, killed just $when commit $nth, ends the same way', death =>
      judge(death, onPostgres),
    )
  })
}
