/**
 * This tree against another one: `npm run bench:pairs -- --against DIR` (a checkout with its node_modules).
 * Both services are up at once, each under load for a moment in turn, so that whatever else the machine does
 * falls on both. A row is the median over the rounds of the quotient of two neighbours, this tree by the
 * other one, the middle half of those quotients, and where the true median lies in 95 of 100 cases.
 * `--indexed`: this tree's service indexes what is said for the search, the other one does not. `--postgres`:
 * both keep their logs in schemas of one server, the one that TEST_DATABASE_URL or DATABASE_URL names or one
 * that is started for it.
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
import { quantile } from './http.ts'
import { type Load, startLoad } from './load-process.ts'
import type { Ready, Start } from './pairs/service.ts'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    rounds: { type: 'string', default: '40' },
    indexed: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    only: { type: 'string', default: 'appends,deliveries,replay' },
  },
})
if (values.against === undefined) throw new Error('--against DIR: the tree to compare with')
const rounds = Number(values.rounds)
const only = values.only.split(',')
/** With the index, long enough that it works beside the appends. */
const BURST_MS = values.indexed ? 2000 : 500
const READERS = 1000
const REPLAYED = 20_000
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
  const before = await service.cpu()
  const { ms } = await load.ask(
    {
      do: 'read',
      port,
      token,
      session: long,
      readers: 1,
      after: 0,
      events: REPLAYED,
      announce: false,
      latency: false,
    },
    'read',
  )
  return { cpu: ((await service.cpu()) - before) / REPLAYED, perSecond: (REPLAYED * 1000) / ms }
}

/** Both in turn, the first of a round now this one and now that. */
async function pair(
  name: string,
  unit: string,
  services: readonly [Service, Service],
  once: (service: Service) => Promise<Sample>,
): Promise<void> {
  const samples: [Sample[], Sample[]] = [[], []]
  for (let round = -2; round < rounds; round++) {
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const sample = await once(services[at])
      if (round >= 0) samples[at].push(sample)
    }
  }
  const [ours, theirs] = samples
  const quotients = (of: (sample: Sample) => number): string => {
    const all = ours.map((sample, at) => of(sample) / of(theirs[at] as Sample))
    // As many of a sample lie below the true median as tosses of a coin show heads: no law is assumed.
    const beside = 0.98 / Math.sqrt(rounds)
    const [from, low, middle, high, to] = [0.5 - beside, 0.25, 0.5, 0.75, 0.5 + beside].map(q =>
      quantile(all, Math.max(0, q)).toFixed(3),
    )
    return `${middle} (${low} to ${high}; the median ${from} to ${to})`
  }
  const medians = (of: (sample: Sample) => number, digits: number): string =>
    [theirs, ours].map(part => quantile(part.map(of), 0.5).toFixed(digits)).join(' → ')
  console.log(`${name}, µs of CPU ${unit}: ${medians(({ cpu }) => cpu, 2)}, ${quotients(({ cpu }) => cpu)}`)
  if (ours[0]?.perSecond !== null) {
    const speed = ({ perSecond }: Sample): number => perSecond ?? 0
    console.log(`${name}, a second: ${medians(speed, 0)}, ${quotients(speed)}`)
  }
}

const dir = await mkdtemp(join(tmpdir(), 'cairn-pairs-'))
const places = values.postgres ? [await makePostgresPlace(), await makePostgresPlace()] : []
const load = startLoad()
const trees = [fileURLToPath(new URL('../../..', import.meta.url)), resolve(values.against)]
const [ours, theirs] = await Promise.all(
  trees.map((tree, at) =>
    startService({
      tree,
      dir: join(dir, String(at)),
      events: REPLAYED,
      indexed: values.indexed && at === 0,
      ...(places[at] !== undefined && { url: places[at].place }),
    }),
  ),
)
if (ours === undefined || theirs === undefined) throw new Error('[bench] two trees make two services')
const services = [ours, theirs] as const
try {
  console.log(`the other tree → this one, this one by the other; ${rounds} rounds`)
  if (only.includes('appends'))
    for (const clients of [1, 64])
      await pair(`durable appends, ${clients} clients`, 'an append', services, service =>
        append(load, service, clients),
      )
  if (only.includes('replay'))
    await pair('replay over SSE', 'an event', services, service => replay(load, service))
  if (only.includes('deliveries')) {
    for (const { port, token, watched: session } of services)
      await load.ask({ do: 'hold', port, token, session, readers: READERS }, 'ready')
    await pair(`deliveries to ${READERS} readers`, 'a delivery', services, service => deliver(load, service))
  }
} finally {
  load.stop()
  await Promise.all(services.map(service => service.stop()))
  for (const { remove } of places) await remove()
  await rm(dir, { recursive: true, force: true })
}
