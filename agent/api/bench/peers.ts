/**
 * Ours and what else one could take, in one run on one machine: `npm run bench:peers`. Every server runs in a
 * process of its own, the load generator in another. Rounds go round everybody, so that a disk or a neighbour
 * that changes its mind does it to all.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { probeDisk } from '@cairn/log/bench/append'
import { measure } from '@cairn/log/bench/peers/children'
import { cpuOf } from '@cairn/log/bench/peers/cpu'
import { durableStreams } from '@cairn/log/bench/peers/durable-streams'
import type { Job } from '@cairn/log/bench/peers/load'
import { naivePostgres } from '@cairn/log/bench/peers/naive-postgres'
import { nats } from '@cairn/log/bench/peers/nats'
import { nchan } from '@cairn/log/bench/peers/nchan'
import type { Peer, Running } from '@cairn/log/bench/peers/peer'
import { redis } from '@cairn/log/bench/peers/redis'
import { ours, oursInProcess, oursOnPostgres } from './peers/ours.ts'
import { type Figures, type Line, type Probe, report } from './peers/report.ts'

const CLIENTS = 64
const PER_SECOND = 50

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    readers: { type: 'string', default: '1000' },
    only: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
    out: { type: 'string' },
  },
})
const [rounds, seconds, readers] = [Number(values.rounds), Number(values.seconds), Number(values.readers)]
const peers = [ours, oursInProcess, oursOnPostgres, redis, nats, naivePostgres, nchan, durableStreams].filter(
  ({ name }) => values.only === undefined || name.toLowerCase().includes(values.only.toLowerCase()),
)

const median = (all: readonly Figures[], of: (one: Figures) => number): number =>
  all.map(of).toSorted((a, b) => a - b)[Math.floor((all.length - 1) / 2)] ?? Number.NaN
const medians = (all: readonly Figures[]): Figures | null =>
  all.length === 0
    ? null
    : {
        per_second: median(all, one => one.per_second),
        p50_ms: median(all, one => one.p50_ms),
        p99_ms: median(all, one => one.p99_ms),
        count: median(all, one => one.count),
        server_us: all.some(one => one.server_us === null) ? null : median(all, one => one.server_us ?? 0),
        missing: Math.max(...all.map(one => one.missing)),
        load_us: median(all, one => one.load_us),
      }

/** One measurement, with the CPU that the server used meanwhile. */
async function keep(all: Figures[], { pids }: Running, job: Job): Promise<void> {
  const before = cpuOf(pids)
  const measured = await measure(job)
  const after = cpuOf(pids)
  if (measured !== null)
    all.push({
      ...measured,
      server_us: before === null || after === null ? null : (after - before) / Math.max(1, measured.count),
    })
}

type Entrant = { peer: Peer; running: Running | null; one: Figures[]; many: Figures[]; deliver: Figures[] }

const dir = mkdtempSync(join(values.dir, 'cairn-peers-'))
const entrants: Entrant[] = []
const probes: Probe[] = []
const load: number[] = []
try {
  for (const [index, peer] of peers.entries()) {
    const own = join(dir, String(index))
    mkdirSync(own)
    entrants.push({ peer, running: await peer.start(own), one: [], many: [], deliver: [] })
  }
  for (let round = 0; round < rounds; round++) {
    load.push(loadavg()[0] ?? 0)
    probes.push(await probeDisk(dir))
    for (const { peer, running, one, many, deliver } of entrants) {
      if (running === null) continue
      const { spec } = running
      process.stderr.write(`round ${round + 1} of ${rounds}: ${peer.name} ...\n`)
      if (peer.appends) {
        // Whoever compiles as it goes has done so before anything is counted. What runs within the load
        // generator starts anew each time.
        const isEmbedded = spec.kind === 'embedded'
        if (round === 0 && !isEmbedded)
          await measure({ do: 'append', spec, warmMs: 0, clients: CLIENTS, ms: 1500 })
        await keep(one, running, {
          do: 'append',
          spec,
          warmMs: isEmbedded ? 1000 : 0,
          clients: 1,
          ms: seconds * 1000,
        })
        await keep(many, running, {
          do: 'append',
          spec,
          warmMs: isEmbedded ? 1000 : 0,
          clients: CLIENTS,
          ms: seconds * 1000,
        })
      }
      if (peer.delivers)
        await keep(deliver, running, {
          do: 'deliver',
          spec,
          warmMs: 0,
          readers,
          perSecond: PER_SECOND,
          events: seconds * PER_SECOND,
        })
    }
  }
  const lines = entrants.map(({ peer, running, one, many, deliver }): Line => ({
    peer,
    version: running?.version ?? null,
    one: medians(one),
    many: medians(many),
    deliver: medians(deliver),
  }))
  const base = lines.find(({ peer }) => peer === ours) ?? {
    peer: ours,
    version: null,
    one: null,
    many: null,
    deliver: null,
  }
  const text = report(lines, base, probes, {
    command: [
      'npm run bench:peers',
      ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : []),
    ].join(' '),
    clients: CLIENTS,
    readers,
    perSecond: PER_SECOND,
    seconds,
    rounds,
    load,
  })
  process.stdout.write(text)
  if (values.out !== undefined) writeFileSync(values.out, text, { flag: 'wx' })
} finally {
  for (const { running } of entrants) await running?.stop()
  rmSync(dir, { recursive: true, force: true })
}
