/**
 * What the export to OpenTelemetry costs: `npm run dev -- bench:otel`. Two services, one of which sends its
 * spans to a collector in this process, run turns of the swarm one after the other. Prints the CPU of the
 * service for a turn in pairs, and the median of their quotients. `--turns 100 --pairs 10`.
 */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPart } from '../../agent/app/src/bench/part.ts'
import type { ServiceReport, ServiceUsage } from '../../agent/app/src/bench/service-protocol.ts'
import {
  type LoadReport,
  MODEL,
  type ModelReport,
  TITLE_MODEL,
} from '../../agent/app/src/bench/swarm/protocol.ts'

const { values } = parseArgs({
  options: { turns: { type: 'string', default: '100' }, pairs: { type: 'string', default: '10' } },
})
const turns = Number(values.turns)
/** The export is done by then: it looks for new spans every two seconds. */
const SETTLE_MS = 4_000

let spans = 0
const collector = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk: Buffer) => (text += chunk.toString()))
  request.on('end', () => {
    spans += text.split('"spanId"').length - 1
    response.end('{}')
  })
})
collector.listen(0, '127.0.0.1')
await once(collector, 'listening')
const address = collector.address()
if (address === null || typeof address === 'string') throw new Error('[bench] the collector has no port')
const otel = { endpoint: `http://127.0.0.1:${address.port}` }

const dir = mkdtempSync(join(tmpdir(), 'cairn-otel-bench-'))
for (const name of ['off', 'on']) mkdirSync(join(dir, name))
const [model, load] = [startPart('swarm/model'), startPart('swarm/load')]
const services = { off: startPart('service'), on: startPart('service') }
try {
  const { port } = (await model.hear()) as Extract<ModelReport, { port: number }>
  const config = {
    models: { providers: { swarm: { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1` } } },
    agents: { assistant: { model: `swarm/${MODEL}`, summary_model: `swarm/${TITLE_MODEL}` } },
    limits: { concurrent_turns: 5_000, requests_per_minute: 1_000_000, streams_per_principal: 100_000 },
  }
  type Target = Extract<ServiceReport, { url: string }>
  const targets = {
    off: (await services.off.ask({ dir: join(dir, 'off'), config, env: {} })) as Target,
    on: (await services.on.ask({ dir: join(dir, 'on'), config: { ...config, otel }, env: {} })) as Target,
  }
  const usage = async (which: 'off' | 'on') => (await services[which].ask('usage')) as ServiceUsage

  async function measure(which: 'off' | 'on'): Promise<number> {
    const before = await usage(which)
    const { lost } = (await load.ask({ ...targets[which], turns })) as LoadReport
    if (lost > 0) throw new Error(`[bench] ${lost} tokens were lost`)
    await delay(SETTLE_MS)
    return ((await usage(which)).cpu_ms - before.cpu_ms) / turns
  }

  // The first rounds pay for compiling.
  for (const which of ['off', 'on', 'off', 'on'] as const) await measure(which)
  const quotients: number[] = []
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    const order = pair % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)
    const cpu = { off: 0, on: 0 }
    for (const which of order) cpu[which] = await measure(which)
    quotients.push(cpu.on / cpu.off)
    process.stdout.write(`${cpu.off.toFixed(2)} ms off, ${cpu.on.toFixed(2)} ms on\n`)
  }
  const sorted = quotients.toSorted((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  process.stdout.write(`median ${((median - 1) * 100).toFixed(1)} %, ${spans} spans received\n`)
} finally {
  await Promise.all([load, model, services.off, services.on].map(part => part.stop()))
  collector.closeAllConnections()
  collector.close()
  rmSync(dir, { recursive: true, force: true })
}
