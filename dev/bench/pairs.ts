/**
 * This tree against another one: `npm run dev -- bench:pairs --against DIR` (a checkout with its
 * node_modules). Both services are up at once, each under load for a moment in turn, so that whatever else
 * the machine does falls on both. But two processes of one tree differ by several percent for as long as they
 * live, and by other ones after the next start, so both are started anew `--starts` times, each of them first
 * in turn. A row is the mean over the starts of the median quotient of `--rounds` neighbours, this tree by
 * the other one, with its bounds in 95 of 100 cases, and each start's median. `--indexed`: this tree's
 * service indexes what is said for the search, the other one does not. `--postgres`: both keep their logs in
 * schemas of one server, the one that TEST_DATABASE_URL or DATABASE_URL names or one that is started for it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { type Load, startLoad } from '../../agent/api/bench/load-process.ts'
import type { Ready, Start } from './pairs/service.ts'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    starts: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '8' },
    indexed: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    only: { type: 'string', default: 'appends,deliveries,replay' },
  },
})
const { against } = values
if (against === undefined) throw new Error('--against DIR: the tree to compare with')
const starts = Number(values.starts)
if (!(starts >= 2)) throw new Error('--starts: at least 2, for between them is what the bounds come from')
const rounds = Number(values.rounds)
const only = values.only.split(',')
/** With the index, long enough that it works beside the appends. */
const BURST_MS = values.indexed ? 2000 : 500
const READERS = 1000
/** Rounds that are not counted. */
const WARM_UP = 4
const REPLAYED = 20_000
/** In a sample: one takes less than a tenth of a second. */
const REPLAYS = 6
const TEXT = 'x'.repeat(400)

type Service = Ready & { cpu(asked?: 'cpu' | 'drain'): Promise<number>; stop(): Promise<void> }
/** Microseconds of the HTTP thread for one thing done, and how many were done a second. */
type Sample = { cpu: number; perSecond: number | null }

async function startService(start: Start): Promise<Service> {
  const child = fork(fileURLToPath(new URL('pairs/service.ts', import.meta.url)), [JSON.stringify(start)], {
    execArgv: ['--max-semi-space-size=32'],
  })
  const gone = new AbortController()
  const exit = once(child, 'exit')
  child.once('exit', () => gone.abort(new Error(`[bench] the service of ${start.tree} ended`)))
  const { signal } = gone
  const [ready] = (await once(child, 'message', { signal })) as [Ready]
  return {
    ...ready,
    async cpu(asked = 'cpu') {
      child.send(asked)
      const [{ user, system }] = (await once(child, 'message', { signal })) as [NodeJS.CpuUsage]
      return user + system
    },
    async stop() {
      child.disconnect()
      await exit
    },
  }
}

async function append(load: Load, service: Service, clients: number): Promise<Sample> {
  const { port, token, sessions } = service
  const before = await service.cpu()
  const { count, ms } = await load.ask(
    { do: 'append', port, token, sessions, clients, durationMs: BURST_MS, content: TEXT },
    'appended',
  )
  const cpu = ((await service.cpu()) - before) / count
  // What is left to index must not fall on the neighbour.
  await service.cpu('drain')
  return { cpu, perSecond: (count * 1000) / ms }
}

const PACE = { events: 25, perSecond: 50 }
async function deliver(load: Load, service: Service): Promise<Sample> {
  const { port, token, watched: session } = service
  const before = await service.cpu()
  load.send({ do: 'pace', port, token, session, content: TEXT, ...PACE })
  await delay((PACE.events * 1000) / PACE.perSecond + 60)
  return { cpu: ((await service.cpu()) - before) / (PACE.events * READERS), perSecond: null }
}

async function replay(load: Load, service: Service): Promise<Sample> {
  const { port, token, long } = service
  const once = { port, token, session: long, readers: 1, after: 0, events: REPLAYED }
  const before = await service.cpu()
  let took = 0
  for (let time = 0; time < REPLAYS; time++) {
    const { ms } = await load.ask({ do: 'read', ...once, announce: false, latency: false }, 'read')
    took += ms
  }
  const events = REPLAYS * REPLAYED
  return { cpu: ((await service.cpu()) - before) / events, perSecond: (events * 1000) / took }
}

/** Of one row, those of each start: this tree's, and the other one's right beside them. */
type Pairs = { ours: Sample[]; theirs: Sample[] }[]
const trees = [fileURLToPath(new URL('../..', import.meta.url)), resolve(against)] as const
const rows = new Map<string, Pairs>()

/** Both in turn, the first of a round now this one and now that. */
async function pair(
  name: string,
  [ours, theirs]: readonly [Service, Service],
  once: (service: Service) => Promise<Sample>,
): Promise<void> {
  const samples: Pairs[number] = { ours: [], theirs: [] }
  for (let round = -WARM_UP; round < rounds; round++) {
    const inTurn = [[samples.ours, ours] as const, [samples.theirs, theirs] as const]
    for (const [kept, service] of round % 2 === 0 ? inTurn : inTurn.toReversed()) {
      const sample = await once(service)
      if (round >= 0) kept.push(sample)
    }
  }
  rows.set(name, [...(rows.get(name) ?? []), samples])
}

async function measureStart(at: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-pairs-'))
  const places = values.postgres ? [await makePostgresPlace(), await makePostgresPlace()] : []
  const begin = (nth: 0 | 1): Promise<Service> =>
    startService({
      tree: trees[nth],
      dir: join(dir, String(nth)),
      events: only.includes('replay') ? REPLAYED : 0,
      indexed: values.indexed && nth === 0,
      ...(places[nth] !== undefined && { url: places[nth].place }),
    })
  const isOursFirst = at % 2 === 0
  const first = await begin(isOursFirst ? 0 : 1)
  const second = await begin(isOursFirst ? 1 : 0)
  const services = isOursFirst ? ([first, second] as const) : ([second, first] as const)
  const load = startLoad()
  try {
    // Many first: what one client measures after it has been compiled.
    if (only.includes('appends'))
      for (const clients of [64, 1])
        await pair(`an append, ${clients} clients`, services, service => append(load, service, clients))
    if (only.includes('replay')) await pair('an event over SSE', services, service => replay(load, service))
    if (only.includes('deliveries')) {
      for (const { port, token, watched: session } of services)
        await load.ask({ do: 'hold', port, token, session, readers: READERS }, 'ready')
      await pair(`a delivery to ${READERS} readers`, services, service => deliver(load, service))
    }
  } finally {
    load.stop()
    await Promise.all(services.map(service => service.stop()))
    for (const { remove } of places) await remove()
    await rm(dir, { recursive: true, force: true })
  }
}

/**
 * Of an even count the mean of the two in the middle. The first of a round is slower than the second, so the
 * quotients of neighbours are two groups, and either of the two alone would favour one tree.
 */
function median(all: readonly number[]): number {
  const sorted = all.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2
}
/** Student's t, two-sided 95 %, by degrees of freedom from 1; beyond the table the next smaller one. */
const T = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13]

function tell(name: string, pairs: Pairs, of: (sample: Sample) => number, digits: number): void {
  const [there, here] = (['theirs', 'ours'] as const).map(tree =>
    median(pairs.flatMap(samples => samples[tree].map(of))).toFixed(digits),
  )
  const medians = pairs.map(({ ours, theirs }) =>
    median(ours.map((sample, at) => of(sample) / of(theirs[at] as Sample))),
  )
  const logs = medians.map(Math.log)
  const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length
  const squares = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0)
  const t = T[Math.min(logs.length - 1, T.length) - 1] ?? NaN
  const margin = t * Math.sqrt(squares / (logs.length - 1) / logs.length)
  const [low, middle, high] = [mean - margin, mean, mean + margin].map(log => Math.exp(log).toFixed(3))
  const each = medians.map(one => one.toFixed(2)).join(' ')
  console.log(`${name}: ${there} → ${here}, ${middle} (${low} to ${high}); starts ${each}`)
}

console.log(`the other tree → this one, this one by the other; ${starts} starts of ${rounds} rounds`)
for (let at = 0; at < starts; at++) await measureStart(at)
for (const [name, pairs] of rows) {
  tell(`${name}, µs of CPU`, pairs, ({ cpu }) => cpu, 2)
  if (pairs[0]?.ours[0]?.perSecond !== null)
    tell(`${name}, a second`, pairs, ({ perSecond }) => perSecond ?? 0, 0)
}
