/**
 * Prometheus metrics. Labels are route names, statuses and kinds: never an id, a path or anything that a
 * caller supplied.
 */
import type { Commit, Committed, LogStore } from '@cairn/log'
import type { EventData, EventDraft, EventType } from '@cairn/protocol'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Current values of the runner in this process; `proxy_` counts since its start. */
export type HarnessStats = {
  active_turns: number
  code_runs: number
  browsers: number
  proxy_connections: number
  proxy_refusals: number
}

export type Metrics = {
  request(route: string, status: number, ms: number): void
  delivered(events: number): void
  text(): Promise<string>
  contentType: string
}
/** Latencies from half a millisecond to seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type MeteredParts = {
  streams: () => number
  harness: (() => HarnessStats) | undefined
  leases: Pick<LogStore['leases'], 'countDue'>
  /** Milliseconds. */
  monotonic: () => number
}

export function createMetrics(registry: Registry, { streams, harness, ...due }: MeteredParts): Metrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'cairn_http_requests_total',
    help: 'Completed requests by route and status.',
    labelNames: ['route', 'status'],
    registers,
  })
  const latency = new Histogram({
    name: 'cairn_http_request_seconds',
    help: 'Time to the response; for streams, to the response headers.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers,
  })
  const delivered = new Counter({
    name: 'cairn_events_delivered_total',
    help: 'Events written to streams.',
    registers,
  })
  const open: Gauge = new Gauge({
    name: 'cairn_open_streams',
    help: 'Open event streams.',
    registers,
    collect: () => open.set(streams()),
  })
  meterDue(registers, due)
  if (harness) meterHarness(registers, harness)
  const counts = new Map<string, { inc(): void }>()
  const times = new Map<string, { observe(seconds: number): void }>()
  return {
    request(route, status, ms) {
      const key = `${route} ${status}`
      let count = counts.get(key)
      if (count === undefined) counts.set(key, (count = requests.labels(route, String(status))))
      count.inc()
      let time = times.get(route)
      if (time === undefined) times.set(route, (time = latency.labels(route)))
      time.observe(ms / 1000)
    },
    delivered: events => delivered.inc(events),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

const STATS: Readonly<Record<keyof HarnessStats, readonly [name: string, help: string]>> = {
  active_turns: ['cairn_active_turns', 'Turns running in this process.'],
  code_runs: ['cairn_active_code_runs', 'Coding agent processes in this process.'],
  browsers: ['cairn_browsers', 'Browsers of this process.'],
  proxy_connections: ['cairn_proxy_connections', 'Connections opened from sandboxes since the start.'],
  proxy_refusals: ['cairn_proxy_refusals', 'Connections from sandboxes rejected by policy since the start.'],
}

/** Values are read when Prometheus scrapes them. */
function meterHarness(registers: Registry[], harness: () => HarnessStats): void {
  for (const key of Object.keys(STATS) as (keyof HarnessStats)[]) {
    const [name, help] = STATS[key]
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(harness()[key]) })
  }
}

/** Anybody may scrape, and each count is a query, so at most one runs per interval. */
const COUNT_EVERY_MS = 1_000

function meterDue(
  registers: Registry[],
  { leases, monotonic }: Pick<MeteredParts, 'leases' | 'monotonic'>,
): void {
  let countedAt = -Infinity
  // NaN is the value of a gauge that is not known: /readyz reports why the store does not respond.
  let count: Promise<number> = Promise.resolve(Number.NaN)
  const gauge: Gauge = new Gauge({
    name: 'cairn_due_sessions',
    help: 'Sessions with work that no runner has claimed. Every process on a store reports the same number.',
    registers,
    async collect() {
      const at = monotonic()
      if (at - countedAt >= COUNT_EVERY_MS) {
        countedAt = at
        count = leases.countDue().catch(() => Number.NaN)
      }
      gauge.set(await count)
    },
  })
}

/** The app creates one registry for the store and the service. */
export const createRegistry = (): Registry => new Registry()

/** Wraps the store so that its commits are measured; the app passes the wrapped store to all parts. */
export function meterStore(store: LogStore, registry: Registry): LogStore {
  const registers = [registry]
  const appended = new Counter({
    name: 'cairn_events_appended_total',
    help: 'Events committed to the log.',
    registers,
  })
  const commits = new Histogram({
    name: 'cairn_commit_seconds',
    help: 'Time until a commit is on disk.',
    buckets: BUCKETS,
    registers,
  })
  const refused = new Counter({
    name: 'cairn_commits_failed_total',
    help: 'Commits rejected by a guard or failed in the store.',
    registers,
  })
  const runs = new Counter({
    name: 'cairn_code_runs_total',
    help: 'Coding agent runs ended, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const control = new Counter({
    name: 'cairn_browser_control_seconds_total',
    help: 'Time that users controlled browsers.',
    registers,
  })
  const count = (draft: Commit['events'][number]): void => {
    if (isType(draft, 'code.run_result')) runs.inc({ outcome: outcomeOf(draft.data) })
    if (isType(draft, 'browser.control_returned')) control.inc(draft.data.seconds)
  }
  const commit = async (given: Commit): Promise<Committed> => {
    const startedAt = performance.now()
    try {
      const committed = await store.commit(given)
      commits.observe((performance.now() - startedAt) / 1000)
      appended.inc(committed.events.length)
      given.events.forEach(count)
      return committed
    } catch (error) {
      refused.inc()
      throw error
    }
  }
  return new Proxy(store, {
    get: (target, name) => (name === 'commit' ? commit : (Reflect.get(target, name, target) as unknown)),
  })
}

const isType = <T extends EventType>(draft: { type: EventType }, type: T): draft is EventDraft<T> =>
  draft.type === type

const outcomeOf = ({ error }: EventData<'code.run_result'>): 'done' | 'stopped' | 'failed' =>
  error === null ? 'done' : error === 'stopped' ? 'stopped' : 'failed'
