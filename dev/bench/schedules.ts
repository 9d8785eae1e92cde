/**
 * 10,000 schedules that are due in the same minute, on each store: how long until the session of the last run
 * was made, and whether every slot is accounted for. `npm run dev -- bench:schedules [COUNT]`
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogStore, openPostgresStore, openSqliteStore } from '@cairn/log'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { Config } from '@cairn/protocol'
import { createSchedule, createSession } from '@cairn/sessions'
import { systemClock } from '@cairn/models/clock'
import { fireTimers } from '../../agent/harness/src/capabilities/coordination/timers.ts'
import { newId, owner } from '../../agent/harness/bench/life-job.ts'

const PER_SESSION = 10
const MINUTE = 60_000
const COUNT = Number(process.argv[2] ?? 10_000)
const MAX = Number.MAX_SAFE_INTEGER
const config = Config.parse({ schedules: { max_per_session: MAX, max_per_principal: MAX } })

/** The clock of the store, which is set to the time that all of them are due. */
const wall = { now: Math.ceil(Date.now() / MINUTE) * MINUTE }

async function prepare(store: LogStore): Promise<string[]> {
  const deps = { store, now: () => wall.now, newId }
  const ids: string[] = []
  for (let nth = 0; nth < COUNT; nth += PER_SESSION) {
    // As many people as sessions: the limit of one counts what they have.
    const principal = { ...owner, id: `user-${nth}` }
    const { id } = await createSession(deps, ['assistant'], { principal, title: 'Titled' })
    const wish = { prompt: 'look at the weather', every_s: 3600 }
    const made = await Promise.all(
      Array.from({ length: PER_SESSION }, () => createSchedule(deps, config, principal, id, wish)),
    )
    ids.push(...made.map(schedule => schedule.id))
  }
  return ids
}

/** Of all of them: the slots that passed, and the runs that there are. */
async function accountedFor(store: LogStore, ids: readonly string[]): Promise<string> {
  let [slots, rows, sessions] = [0, 0, 0]
  for (const id of ids) {
    const { runs } = await store.schedules.runs(id, { limit: 10 })
    const schedule = await store.schedules.get(id)
    slots += Number(schedule?.state['slot_count'])
    rows += runs.length
    const made = await store.sessions.getMany(runs.flatMap(run => run.run_session_id ?? []))
    sessions += made.length
  }
  return `${slots} slots, ${rows} rows, ${sessions} sessions of runs`
}

async function measure(name: string, store: LogStore): Promise<void> {
  const ids = await prepare(store)
  wall.now += 60 * MINUTE
  const runner = {
    store,
    id: 'bench',
    clock: { ...systemClock, now: () => wall.now },
    newId,
    logger: (_level: string, message: string) => console.error(message),
    shutdown: new AbortController().signal,
  }
  const begun = performance.now()
  await fireTimers(runner)
  const seconds = (performance.now() - begun) / 1000
  console.log(
    `${name}: ${ids.length} schedules due at once, the last run was made after ${seconds.toFixed(1)} s ` +
      `(${Math.round(ids.length / seconds)} a second): ${await accountedFor(store, ids)}`,
  )
}

const dir = await mkdtemp(join(tmpdir(), 'cairn-bench-'))
const embedded = await openSqliteStore({ dir, now: () => wall.now })
await measure('SQLite', embedded)
await embedded.close()
await rm(dir, { recursive: true, force: true })

const { place, remove } = await makePostgresPlace()
const shared = await openPostgresStore({ url: place, now: () => wall.now })
await measure('Postgres', shared)
await shared.close()
await remove()
