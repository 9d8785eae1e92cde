/** Schedules on the stage: a clock that the test turns, and whoever fires what is due. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, openPostgresStore, type ScheduleRun, type Timer } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { Config, type EventOf, type ScheduleInput } from '@cairn/protocol'
import { createSchedule, type Deps, fireTimer } from '@cairn/sessions'
import { alice, newId, readLog, type Stage } from '../turn/stage.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const CONFIG = Config.parse({})

export type Wall = { now: () => number; advance(ms: number): void }
export function makeWall(start = Date.now()): Wall {
  let passed = 0
  return { now: () => start + passed, advance: ms => void (passed += ms) }
}

/** A store on the clock of the test; `more`: others of the same place, where a store is shared. */
export type StoreCase = {
  store: LogStore
  more(now: () => number): Promise<LogStore>
  remove(): Promise<void>
}
export const STORES: [string, (now: () => number) => Promise<StoreCase>][] = [
  [
    'SQLite',
    async now => {
      const dir = mkdtempSync(join(tmpdir(), 'cairn-schedules-'))
      const store = await openStoreInProcess({ dir, now, monotonic: now })
      return {
        store,
        more: () => Promise.resolve(store),
        remove: () => Promise.resolve(rmSync(dir, { recursive: true, force: true })),
      }
    },
  ],
  [
    'Postgres',
    async now => {
      const { place, remove } = await borrowPostgresPlace()
      const others: LogStore[] = []
      return {
        store: await openPostgresStore({ url: place, now }),
        async more(theirs) {
          const store = await openPostgresStore({ url: place, now: theirs })
          others.push(store)
          return store
        },
        async remove() {
          for (const store of others) await store.close()
          await remove()
        },
      }
    },
  ],
]

/** Once, as an upkeep of a worker; returns how many it claimed. */
export async function fireDue(deps: Deps, by = 'firer'): Promise<number> {
  let fired = 0
  for (;;) {
    const timers: Timer[] = await deps.store.timers.claim(by, 50, 30_000)
    if (timers.length === 0) return fired
    fired += timers.length
    await Promise.all(timers.map(timer => fireTimer(deps, timer)))
  }
}

export const addSchedule = (deps: Deps, sessionId: string, input: Partial<ScheduleInput> = {}) =>
  createSchedule(deps, CONFIG, alice, sessionId, {
    prompt: 'look at the weather',
    ...(input.cron === undefined && input.at === undefined ? { every_s: 60 } : {}),
    ...input,
  })

export const runsOf = async (store: LogStore, id: string): Promise<ScheduleRun[]> =>
  (await store.schedules.runs(id, { limit: 1000 })).runs.toReversed()
export const said = (runs: readonly ScheduleRun[], from: number): string[] =>
  runs.map(
    ({ slot_at, status, reason, collapsed }) =>
      `${Math.round((slot_at - from) / MINUTE)} ${status}${reason === null ? '' : ` ${reason}`}` +
      (collapsed === 0 ? '' : ` +${collapsed}`),
  )

export async function resultsOf(store: LogStore, sessionId: string): Promise<EventOf<'loop.result'>[]> {
  const log = await readLog(store, sessionId)
  return log.filter((event): event is EventOf<'loop.result'> => event.type === 'loop.result')
}
/** Until the session was told of so many runs. */
export const untilTold = (stage: Stage, count: number) =>
  stage.until(log => log.filter(event => event.type === 'loop.result').length >= count)

export const depsOf = (store: LogStore, now: () => number): Deps => ({ store, now, newId })
