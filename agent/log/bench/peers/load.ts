/**
 * The load generator of the comparison, one process a measurement and the same for everybody: raw sockets,
 * closed loops for appends, an open loop of so many events a second for deliveries. Started as a child with a
 * Job in argv; sends one Measured.
 */
import { watchMarks } from '../marks.ts'
import { quantile } from '../measure.ts'
import type { Driver } from './driver.ts'
import { embeddedDriver, type EmbeddedSpec } from './embedded-driver.ts'
import { httpDriver, type HttpSpec } from './http-driver.ts'
import { natsDriver, type NatsSpec } from './nats-driver.ts'
import { postgresDriver, type PostgresSpec } from './postgres-driver.ts'
import { redisDriver, type RedisSpec } from './redis-driver.ts'

export type Spec = HttpSpec | RedisSpec | NatsSpec | PostgresSpec | EmbeddedSpec
export type Job = { spec: Spec; warmMs: number } & (
  | { do: 'append'; clients: number; ms: number }
  | { do: 'deliver'; readers: number; perSecond: number; events: number }
)
export type Measured = {
  count: number
  per_second: number
  p50_ms: number
  p99_ms: number
  /** Deliveries that had not come 10 s after the last event was sent. */
  missing: number
  /** CPU of the load generator, µs an append or delivery: what of the machine the measuring itself took. */
  load_us: number
}

/** With an envelope of ours a record of about 600 bytes; others get it as it is, and store less. */
const TEXT = 'x'.repeat(400)
const GRACE_MS = 10_000

async function openDriver(spec: Spec): Promise<Driver> {
  switch (spec.kind) {
    case 'http':
      return httpDriver(spec)
    case 'redis':
      return redisDriver(spec)
    case 'nats':
      return natsDriver(spec)
    case 'postgres':
      return postgresDriver(spec)
    case 'embedded':
      return embeddedDriver(spec)
  }
}

async function appendFor(driver: Driver, clients: number, ms: number): Promise<number[]> {
  const writers = await Promise.all(Array.from({ length: clients }, (_, stream) => driver.openWriter(stream)))
  const times: number[] = []
  const end = performance.now() + ms
  await Promise.all(
    writers.map(async writer => {
      for (let from = performance.now(); from < end;) {
        await writer.write(TEXT)
        const to = performance.now()
        times.push(to - from)
        from = to
      }
    }),
  )
  for (const writer of writers) writer.close()
  return times
}

async function deliver(
  driver: Driver,
  readers: number,
  perSecond: number,
  events: number,
): Promise<{ times: number[]; missing: number }> {
  const times: number[] = []
  const expected = readers * events
  const all = Promise.withResolvers<void>()
  const opened: { close(): void }[] = []
  for (let first = 0; first < readers; first += 50) {
    opened.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, readers - first) }, () => {
          let now = 0
          const look = watchMarks('at=', ';', at => {
            times.push(now - Number(at))
            if (times.length === expected) all.resolve()
          })
          return driver.openReader(data => {
            now = performance.timeOrigin + performance.now()
            look(data)
          })
        }),
      )),
    )
  }
  const writer = await driver.openWriter(0)
  const startedAt = performance.now()
  const written: Promise<void>[] = []
  for (let index = 0; index < events; index++) {
    const wait = startedAt + (index * 1000) / perSecond - performance.now()
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    // Sent at its time whether the last one was answered or not.
    written.push(writer.write(`at=${performance.timeOrigin + performance.now()};${TEXT}`))
  }
  await Promise.all(written)
  const tooLate = setTimeout(all.resolve, GRACE_MS)
  await all.promise
  clearTimeout(tooLate)
  for (const reader of opened) reader.close()
  writer.close()
  return { times, missing: expected - times.length }
}

async function perform(job: Job): Promise<Measured> {
  const driver = await openDriver(job.spec)
  try {
    if (job.warmMs > 0) await appendFor(driver, 8, job.warmMs)
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    const { times, missing } =
      job.do === 'append'
        ? { times: await appendFor(driver, job.clients, job.ms), missing: 0 }
        : await deliver(driver, job.readers, job.perSecond, job.events)
    const elapsed = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpu)
    const sorted = [...Float64Array.from(times).toSorted()]
    return {
      count: times.length,
      per_second: (times.length / elapsed) * 1000,
      p50_ms: quantile(sorted, 0.5),
      p99_ms: quantile(sorted, 0.99),
      missing,
      load_us: (user + system) / Math.max(1, times.length),
    }
  } finally {
    await driver.close?.()
  }
}

const measured = await perform(JSON.parse(process.argv[2] ?? '{}') as Job)
process.send?.(measured, () => process.exit(0))
