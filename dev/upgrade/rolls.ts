/**
 * The rehearsal on Postgres: six processes of the previous program under load are replaced one by one by the
 * new one, then back, then forward again, while processes are killed and, on request, the database restarts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, createClient } from '@cairn/client'
import { openPostgresStore } from '@cairn/log'
import { makePrivatePostgres } from '@cairn/log/test/postgres-place'
import { asError, type SessionEvent } from '@cairn/protocol'
import { stringify } from 'yaml'
import { localToken } from '../../agent/app/src/local/local-admin.ts'
import { type Fleet, ROLES, startFleet } from '../chaos/fleet.ts'
import { createInsist } from '../chaos/insist.ts'
import { type Counts, createObserver, newCounts, type Observer, type Watched } from '../chaos/observer.ts'
import { breakDown, type Cause, describeSlow, isSlow, MAX_P99_MS, percentiles } from './acknowledgements.ts'
import { startBalancer } from './balancer.ts'
import { CONFIG, type Load, SCENARIO, startLoad } from './load.ts'
import type { Release } from './packages.ts'
import { countRefolds, readFolds, recordFolds, type Refolds } from './refolds.ts'
import { watchCpu } from './watch-cpu.ts'

export type RollOptions = {
  previous: Release
  next: Release
  sessions: number
  /** Processes killed in each of the three rolls. */
  kills: number
  /** Whether the database restarts within the first roll. */
  restart: boolean
  random: () => number
  progress: (line: string) => void
}

export type RollResult = {
  counts: Counts
  kills: Fleet['kills']
  approvals: number
  /** Seconds of each roll. */
  rolls_s: number[]
  lost_turns: number
  repeated_calls: number
  stream_gaps: number
  /** Answers with status 500, which no fault here explains. */
  internal_errors: number
  /** Acknowledgements of messages that were sent during a roll, in milliseconds. */
  acknowledged: { count: number; p50: number; p99: number; max: number }
  /** Milliseconds of the slow ones by cause, and a line for each of them, slowest first. */
  causes: Partial<Record<Cause, number>>
  slow: string[]
  /** What the machine did during the rolls. */
  cpu: string
  /** Of all sessions, and of those with a long log. */
  folds: Refolds
  longFolds: Refolds & { sessions: number; shortest: number }
  problems: string[]
  /** The folder with the logs of the processes, kept if there are problems or acknowledgements are slow. */
  dir: string
}

/** Maximum duration of a request, and of a turn. */
const PATIENCE_MS = 240_000
/** Time under load before the first roll and after each. */
const SETTLE_MS = 8_000
const MAX_KILL_DELAY_MS = 3_000

export async function rehearseRolls(options: RollOptions): Promise<RollResult> {
  const { previous, next, sessions, restart, random, progress } = options
  const database = await makePrivatePostgres()
  // An interrupted rehearsal leaves no server behind.
  process.once('exit', () => {
    if (database.server.pid() > 0) process.kill(database.server.pid(), 'SIGQUIT')
  })
  const dir = mkdtempSync(join(tmpdir(), 'cairn-upgrade-'))
  const dataDir = join(dir, 'data')
  writeFileSync(join(dir, 'scenario.yaml'), stringify(SCENARIO, { aliasDuplicateObjects: false }))
  writeFileSync(join(dir, 'cairn.yaml'), stringify(CONFIG))
  const env = {
    DATABASE_URL: database.place,
    CAIRN_DATA: dataDir,
    CAIRN_CONFIG: join(dir, 'cairn.yaml'),
    LOG_LEVEL: 'info',
  }
  let isDown = false
  let internalErrors = 0
  const counts = newCounts()
  const fleet = await startFleet(dir, env, { program: previous.program, isOutage: () => isDown })
  const balancer = await startBalancer(fleet.urls)
  const { insist, anyClient } = createInsist({
    clients: [
      createClient({
        baseUrl: balancer.url,
        token: () => localToken(dataDir),
        backoff: { baseMs: 100, maxMs: 1000 },
      }),
    ],
    random,
    patienceMs: PATIENCE_MS,
    onRetry(error) {
      counts.retries += 1
      if (error instanceof ApiError && error.code === 'internal') internalErrors += 1
    },
  })
  const observer = createObserver({ insist, anyClient, random, counts, dir, patienceMs: PATIENCE_MS })
  const problems: string[] = []
  const rolls: { from: number; to: number }[] = []
  let judged: Judged = emptyJudged()
  let load: Load | null = null
  let machine = ''

  async function restartDatabase(): Promise<void> {
    isDown = true
    await database.server.stop()
    await database.server.start()
    isDown = false
    progress('the database has restarted')
  }

  async function roll(to: Release, withRestart: boolean): Promise<void> {
    const from = performance.now()
    const order = shuffle([...ROLES.keys()], random)
    let killed = 0
    const beside: Promise<void>[] = []
    for (const [step, at] of order.entries()) {
      const due = Math.round(((step + 1) * options.kills) / order.length) - killed
      killed += due
      for (let each = 0; each < due; each += 1)
        beside.push(delay(random() * MAX_KILL_DELAY_MS).then(() => fleet.killOne(random)))
      if (withRestart && step === order.length / 2) beside.push(restartDatabase())
      await fleet.replace(at, to.program)
    }
    await Promise.all(beside)
    rolls.push({ from, to: performance.now() })
    progress(`six processes run ${to.name}, after ${((performance.now() - from) / 1000).toFixed(0)} s`)
    await delay(SETTLE_MS)
  }

  try {
    await recordFolds(database.place)
    load = startLoad({ sessions, insist, observer, random, counts })
    await delay(2 * SETTLE_MS)
    await load.filled
    const rolling = watchCpu(() => fleet.pids('api'))
    await roll(next, restart)
    await roll(previous, false)
    await roll(next, false)
    machine = rolling.end()
    await load.end()
    problems.push(...load.problems)
    progress('every turn has ended')
    judged = await judgeSessions(load, observer, database.place, problems)
    const store = await openPostgresStore({ url: database.place, readOnly: true })
    problems.push(...(await store.check()))
    await store.close()
  } catch (error) {
    problems.push(asError(error).stack ?? String(error))
  } finally {
    const codes = await fleet.stop()
    problems.push(...fleet.surprises)
    if (codes.some(code => code !== 0)) problems.push(`processes ended with codes ${codes.join(', ')}`)
    await balancer.close()
    await database.remove()
  }
  const during = (load?.acknowledgements ?? []).filter(({ at }) =>
    rolls.some(({ from, to }) => at >= from && at <= to),
  )
  const described = { from: rolls[0]?.from ?? 0, forwarded: balancer.forwarded }
  const acknowledged = percentiles(during)
  if (problems.length === 0 && acknowledged.p99 <= MAX_P99_MS) rmSync(dir, { recursive: true, force: true })
  return {
    counts,
    kills: fleet.kills,
    approvals: load?.approvals() ?? 0,
    rolls_s: rolls.map(({ from, to }) => Math.round((to - from) / 1000)),
    lost_turns: judged.lost,
    repeated_calls: judged.repeated,
    stream_gaps: problems.filter(problem => problem.includes('was given event')).length,
    internal_errors: internalErrors,
    acknowledged,
    causes: breakDown(during),
    slow: during
      .filter(isSlow)
      .toSorted((a, b) => b.ms - a.ms)
      .map(each => describeSlow(each, described)),
    cpu: machine,
    folds: judged.folds,
    longFolds: judged.longFolds,
    problems,
    dir,
  }
}

type Judged = { lost: number; repeated: number } & Pick<RollResult, 'folds' | 'longFolds'>
const emptyJudged = (): Judged => ({
  lost: 0,
  repeated: 0,
  folds: { snapshots: 0, refolds: 0, wakes: 0, mostInOneWake: 0 },
  longFolds: { snapshots: 0, refolds: 0, wakes: 0, mostInOneWake: 0, sessions: 0, shortest: Infinity },
})

async function judgeSessions(
  { watched, long }: Load,
  observer: Observer,
  place: string,
  problems: string[],
): Promise<Judged> {
  const judged = emptyJudged()
  const folds = await readFolds(place)
  for (const [id, session] of watched) {
    const { log, problems: found } = await observer.examine(id, session)
    problems.push(...found)
    judged.repeated += found.filter(problem => problem.includes('ran more than once')).length
    judged.lost += lostTurns(log, session)
    const counted = countRefolds(log, folds.get(id) ?? [])
    add(judged.folds, counted)
    if (!long.has(id)) continue
    add(judged.longFolds, counted)
    judged.longFolds.sessions += 1
    judged.longFolds.shortest = Math.min(judged.longFolds.shortest, log.length)
  }
  return judged
}

function add(sum: Refolds, { snapshots, refolds, wakes, mostInOneWake }: Refolds): void {
  sum.snapshots += snapshots
  sum.refolds += refolds
  sum.wakes += wakes
  sum.mostInOneWake = Math.max(sum.mostInOneWake, mostInOneWake)
}

/** Acknowledged messages after which no turn has completed. */
const lostTurns = (log: readonly SessionEvent[], { acknowledged }: Watched): number =>
  acknowledged.filter(message => !log.some(({ id, type }) => id > message.id && type === 'session.complete'))
    .length

function shuffle(items: number[], random: () => number): number[] {
  return items
    .map(item => ({ item, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}
