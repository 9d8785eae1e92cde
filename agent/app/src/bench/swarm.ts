/**
 * Many sessions that each start a turn within one second: the model that streams, the service, and those who
 * ask and read, in a process each. What it takes is counted until the service is quiet again, titles
 * included.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Part, startPart } from './part.ts'
import { MODEL, TITLE_MODEL } from './swarm/protocol.ts'
import type { LoadJob, LoadReport, ModelReport } from './swarm/protocol.ts'
import type { RelayStart, ServiceReport, ServiceStart, ServiceUsage } from './service-protocol.ts'

export const SWARM_LEVELS = [20, 100, 300, 600]

export type SwarmRow = {
  /**
   * The relays ask for no title and know no session: what any server would take on this machine that stores
   * nothing, or that only has each chunk on disk before it is read.
   */
  server: 'Cairn' | 'relay' | 'durable relay'
  turns: number
  all_done_s: number
  first_token_ms: [p50: number, p99: number]
  token_ms: [p50: number, p99: number]
  gap_p99_ms: number
  /** Events that the answer came in: on a machine that cannot keep up they are fewer, and cost less. */
  chunks_a_turn: number
  cpu_ms_a_turn: number
  /** Of all processors, by all processes, model and readers too; near 1 the machine is full. */
  busy: number
  peak_rss_mb: number
  lost: number
  repeated: number
}

const LOOK_MS = 100

type Target = Extract<ServiceReport, { url: string }>

/**
 * One after the other on one service, as it would live: the first level pays for what is loaded and compiled.
 * The relays have their turns after each.
 */
export async function benchSwarm(directory: string, levels: readonly number[]): Promise<SwarmRow[]> {
  const dir = await mkdtemp(join(directory, 'cairn-bench-'))
  const names = ['swarm/model', 'swarm/load', 'service', 'swarm/relay', 'swarm/relay']
  const [model, load, service, relay, durable] = names.map(startPart) as [Part, Part, Part, Part, Part]
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

    /** Each turn is `calls` calls. */
    async function measure(server: SwarmRow['server'], part: Part, turns: number, calls: number) {
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
    // A turn of ours has a second call, for its title.
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

/** Milliseconds of all processors together since the machine started: all, and those with nothing to do. */
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
