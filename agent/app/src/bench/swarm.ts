/**
 * Many sessions that each start a turn within one second. The streaming model, the service, and the load
 * generator that also reads run in one process each. Resources are counted until the service is idle again,
 * titles included.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchProcess, startPart } from './part.ts'
import { MODEL, TITLE_MODEL } from './swarm/protocol.ts'
import type { LoadJob, LoadReport, ModelReport } from './swarm/protocol.ts'
import type { RelayStart, ServiceReport, ServiceStart, ServiceUsage } from './service-protocol.ts'

export const SWARM_LEVELS = [20, 100, 300, 600]

export type SwarmRow = {
  /**
   * The relays generate no titles and have no sessions: they show the cost on this machine of any server that
   * stores nothing, or that only writes each chunk to disk before it is read.
   */
  server: 'Cairn' | 'relay' | 'durable relay'
  turns: number
  all_done_s: number
  first_token_ms: [p50: number, p99: number]
  token_ms: [p50: number, p99: number]
  gap_p99_ms: number
  /** Events per answer: an overloaded machine coalesces them into fewer, which cost less. */
  chunks_a_turn: number
  cpu_ms_a_turn: number
  /**
   * Utilization of all processors by all processes, model and readers included; near 1 the machine is
   * saturated.
   */
  busy: number
  peak_rss_mb: number
  lost: number
  repeated: number
}

const LOOK_MS = 100

type Target = Extract<ServiceReport, { url: string }>

/**
 * Runs the levels one after the other on one service, as in production: the first level pays for loading and
 * compiling. The relays run after each level.
 */
export async function benchSwarm(directory: string, levels: readonly number[]): Promise<SwarmRow[]> {
  const dir = await mkdtemp(join(directory, 'cairn-bench-'))
  const names = ['swarm/model', 'swarm/load', 'service', 'swarm/relay', 'swarm/relay']
  const [model, load, service, relay, durable] = names.map(startPart) as [
    BenchProcess,
    BenchProcess,
    BenchProcess,
    BenchProcess,
    BenchProcess,
  ]
  try {
    const { port } = (await model.hear()) as Extract<ModelReport, { port: number }>
    const base_url = `http://127.0.0.1:${port}/v1`
    const answered = async (): Promise<number> =>
      ((await model.ask('answered')) as Extract<ModelReport, { answered: number }>).answered
    const targets = {
      Cairn: await service.ask({ dir, config: configOf(base_url), env: {} } satisfies ServiceStart),
      relay: await relay.ask({ base_url, keep_in: null } satisfies RelayStart),
      'durable relay': await durable.ask({ base_url, keep_in: dir } satisfies RelayStart),
    } as Record<SwarmRow['server'], Target>

    /** Each turn makes `calls` model calls. */
    async function measure(server: SwarmRow['server'], part: BenchProcess, turns: number, calls: number) {
      const use = async (): Promise<ServiceUsage> => (await part.ask('usage')) as ServiceUsage
      const [before, asked, from] = [await use(), await answered(), machineTimes()]
      const report = (await load.ask({ ...targets[server], turns } satisfies LoadJob)) as LoadReport
      const to = machineTimes()
      while ((await answered()) - asked < calls * turns) await sleep(LOOK_MS)
      await sleep(LOOK_MS)
      const busy = 1 - (to.idle - from.idle) / (to.all - from.all)
      return { server, busy, ...sumUp(turns, report, before, await use()) }
    }
    const rows: SwarmRow[] = []
    // A turn of Cairn makes a second call, for the title.
    for (const turns of levels)
      rows.push(
        await measure('Cairn', service, turns, 2),
        await measure('relay', relay, turns, 1),
        await measure('durable relay', durable, turns, 1),
      )
    return rows
  } finally {
    await Promise.all([load, service, relay, durable, model].map(part => part.stop()))
    await rm(dir, { recursive: true, force: true })
  }
}

/** Milliseconds of all processors since the machine started: total and idle. */
function machineTimes(): { all: number; idle: number } {
  const times = cpus().map(cpu => cpu.times)
  const sum = (of: (one: (typeof times)[number]) => number) => times.reduce((all, one) => all + of(one), 0)
  return { all: sum(t => t.user + t.nice + t.sys + t.idle + t.irq), idle: sum(t => t.idle) }
}

const configOf = (base_url: string): ServiceStart['config'] => ({
  models: { providers: { swarm: { kind: 'openai', base_url } } },
  agents: { assistant: { model: `swarm/${MODEL}`, summary_model: `swarm/${TITLE_MODEL}` } },
  limits: { concurrent_turns: 5_000, requests_per_minute: 1_000_000, streams_per_principal: 100_000 },
})

function sumUp(
  turns: number,
  report: LoadReport,
  before: ServiceUsage,
  after: ServiceUsage,
): Omit<SwarmRow, 'server' | 'busy'> {
  const quantiles = (values: readonly number[]): ((q: number) => number) => {
    const sorted = Float64Array.from(values).toSorted()
    return q => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
  }
  const [first, token, gap] = [report.first_token, report.token, report.gap].map(quantiles) as [
    (q: number) => number,
    (q: number) => number,
    (q: number) => number,
  ]
  return {
    turns,
    all_done_s: report.all_done / 1000,
    first_token_ms: [first(0.5), first(0.99)],
    token_ms: [token(0.5), token(0.99)],
    gap_p99_ms: gap(0.99),
    chunks_a_turn: (report.first_token.length + report.gap.length) / turns,
    cpu_ms_a_turn: (after.cpu_ms - before.cpu_ms) / turns,
    peak_rss_mb: after.peak_rss_mb,
    lost: report.lost,
    repeated: report.repeated,
  }
}
