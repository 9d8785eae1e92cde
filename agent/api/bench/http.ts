/**
 * What the service does over HTTP, measured from another process: durable appends, the way from an append to
 * its readers, replay, memory. Run alone: node --expose-gc agent/api/bench/http.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '@cairn/log'
import { openBareServer } from './bare-server.ts'
import { commitMessages } from './fill.ts'
import { startLoad } from './load-process.ts'
import { openService } from './open-service.ts'

export type BenchRow = { name: string; value: number; unit: string }
export type HttpBenchOptions = {
  appendMs?: number
  latencySeconds?: number
  replayEvents?: number
  readers?: readonly number[]
}

type Target = { port: number; token: string }

/** About the size of an ordinary event. */
const TEXT = 'x'.repeat(400)

export async function benchHttp({
  appendMs = 3000,
  latencySeconds = 5,
  replayEvents = 50_000,
  readers = [1, 100, 1000],
}: HttpBenchOptions = {}): Promise<BenchRow[]> {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-bench-'))
  const store = await openSqliteStore({ dir: join(dir, 'store') })
  const { newSession, close, ...target } = await openService(store, dir)
  const load = startLoad()
  const rows: BenchRow[] = []
  const add = (name: string, value: number, unit: string): void =>
    void rows.push({ name, value: Number(value.toPrecision(4)), unit })

  async function measureAppends(what: string, target: Target, sessions: string[], clients: number) {
    const cpu = process.threadCpuUsage()
    const { count, ms, latencies } = await load.ask(
      { do: 'append', ...target, sessions, clients, durationMs: appendMs, content: TEXT },
      'appended',
    )
    const used = process.threadCpuUsage(cpu)
    const name = `${what}, ${clients} clients`
    add(name, count / (ms / 1000), 'events/s')
    add(`${name}, p50`, quantile(latencies, 0.5), 'ms')
    add(`${name}, p99`, quantile(latencies, 0.99), 'ms')
    add(`${name}, CPU of the HTTP thread`, (used.user + used.system) / count, 'µs/event')
  }

  async function measureReaders(what: string, target: Target, session: string, count: number) {
    const events = latencySeconds * 50
    await load.ask(
      { do: 'read', ...target, session, readers: count, after: 0, events, announce: true, latency: true },
      'ready',
    )
    const result = load.report('read')
    const cpu = process.threadCpuUsage()
    load.send({ do: 'pace', ...target, session, events, perSecond: 50, content: TEXT })
    const { latencies } = await result
    const used = process.threadCpuUsage(cpu)
    const name = `${what}, ${count} readers`
    add(`${name}, 50 events/s, p50`, quantile(latencies, 0.5), 'ms')
    add(`${name}, 50 events/s, p99`, quantile(latencies, 0.99), 'ms')
    add(`${name}, CPU of the HTTP thread`, (used.user + used.system) / (events * count), 'µs/delivery')
  }

  try {
    // First of all, while the heap is small and steady; a first batch has loaded what every later one shares.
    const quiet = await newSession()
    const idle = 2000
    await load.ask({ do: 'hold', ...target, session: quiet, readers: 100 }, 'ready')
    const before = residentBytes()
    await load.ask({ do: 'hold', ...target, session: quiet, readers: idle }, 'ready')
    add('memory an idle reader', (residentBytes() - before) / idle / 1024, 'KiB')
    load.send({ do: 'release' })

    const sessions = await Promise.all(Array.from({ length: 64 }, newSession))
    await load.ask(
      { do: 'append', ...target, sessions, clients: 8, durationMs: appendMs / 3, content: TEXT },
      'appended',
    )
    for (const clients of [1, 64]) await measureAppends('durable appends', target, sessions, clients)
    for (const count of readers) await measureReaders('append → reader', target, await newSession(), count)

    const long = await newSession()
    await commitMessages(store, long, replayEvents, TEXT)
    const replayed = await load.ask(
      {
        do: 'read',
        ...target,
        session: long,
        readers: 1,
        after: 0,
        events: replayEvents,
        announce: false,
        latency: false,
      },
      'read',
    )
    add('replay over SSE', replayEvents / (replayed.ms / 1000), 'events/s')
    add('replay over SSE', replayed.bytes / 1e6 / (replayed.ms / 1000), 'MB/s')

    const bare = await openBareServer()
    await measureAppends('node:http alone', bare, ['any'], 64)
    await measureReaders('node:http alone', bare, 'any', Math.max(...readers))
    await bare.close()
    return rows
  } finally {
    load.stop()
    await close()
    await store.close()
    await rm(dir, { recursive: true, force: true })
  }
}

/** What the process occupies; after a collection where there is one to call (--expose-gc). */
function residentBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage.rss()
}

export function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { name, value, unit } of await benchHttp())
    console.log(`${name.padEnd(64)} ${String(value).padStart(10)} ${unit}`)
}
