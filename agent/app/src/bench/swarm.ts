/**
 * Many sessions that each start a turn within one second: the model that streams, the service, and those who
 * ask and read, in a process each. What it takes is counted until the service is quiet again, titles
 * included.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LoadJob, LoadReport, ModelReport, ServiceReport, ServiceUsage } from './swarm/protocol.ts'

export const SWARM_LEVELS = [20, 100, 300, 600]

export type SwarmRow = {
  turns: number
  all_done_s: number
  first_token_ms: [p50: number, p99: number]
  token_ms: [p50: number, p99: number]
  gap_p99_ms: number
  /** Events that the answer came in: on a machine that cannot keep up they are fewer, and cost less. */
  chunks_a_turn: number
  cpu_ms_a_turn: number
  peak_rss_mb: number
  lost: number
  repeated: number
}

/** A level that takes longer has hung. */
const TOO_LONG_MS = 180_000
const LOOK_MS = 100

/**
 * One after the other on one service, as it would live: the first level pays for what is loaded and compiled.
 */
export async function benchSwarm(directory: string, levels: readonly number[]): Promise<SwarmRow[]> {
  const dir = await mkdtemp(join(directory, 'cairn-bench-'))
  const [model, service, load] = ['model', 'service', 'load'].map(start) as [Part, Part, Part]
  try {
    const { port } = (await model.hear()) as Extract<ModelReport, { port: number }>
    const started = service.ask({ modelUrl: `http://127.0.0.1:${port}/v1`, dir })
    const { url, token } = (await started) as Extract<ServiceReport, { url: string }>
    const use = async (): Promise<ServiceUsage> => (await service.ask('usage')) as ServiceUsage
    const answered = async (): Promise<number> =>
      ((await model.ask('answered')) as Extract<ModelReport, { answered: number }>).answered
    const rows: SwarmRow[] = []
    for (const turns of levels) {
      const [before, asked] = [await use(), await answered()]
      const report = (await load.ask({ url, token, turns } satisfies LoadJob)) as LoadReport
      // Each turn is one call, and its title another.
      while ((await answered()) - asked < 2 * turns) await sleep(LOOK_MS)
      await sleep(LOOK_MS)
      rows.push(sumUp(turns, report, before, await use()))
    }
    return rows
  } finally {
    await Promise.all([load, service, model].map(part => part.stop()))
    await rm(dir, { recursive: true, force: true })
  }
}

function sumUp(turns: number, report: LoadReport, before: ServiceUsage, after: ServiceUsage): SwarmRow {
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

type Part = {
  /** The next message of the process. */
  hear(): Promise<unknown>
  ask(message: string | object): Promise<unknown>
  stop(): Promise<void>
}

function start(name: string): Part {
  const child: ChildProcess = fork(fileURLToPath(new URL(`swarm/${name}.ts`, import.meta.url)))
  const gone = new AbortController()
  child.once('exit', () => gone.abort(new Error(`[bench] the process of the ${name} ended before its time`)))
  const part: Part = {
    async hear() {
      const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(TOO_LONG_MS)])
      const [message] = (await once(child, 'message', { signal })) as [unknown]
      return message
    },
    ask(message) {
      const answer = part.hear()
      child.send(message)
      return answer
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      if (child.connected) child.disconnect()
      await exited
    },
  }
  return part
}
