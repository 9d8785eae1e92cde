/**
 * The worker (contract 8): claims sessions that have work, keeps their leases alive, lets their turns
 * run side by side, and gives everything back when it is told to stop. Many of these, in one process or in
 * many, share one log.
 */
import { createHoldBack, createRedactor, type LogStore, type Redact } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import { makeSessionFolder } from '@cairn/workspace'
import { createCopies } from './copies.ts'
import { actOnClaim } from './act-on-claim.ts'
import { createBeginnings } from './beginnings.ts'
import { keepCapabilities, upkeepOf } from './capabilities.ts'
import { createClaims } from './claims.ts'
import { type Clock, every, systemClock } from './clock.ts'
import type { CodingAgents } from './code/agent-process.ts'
import { createSlots } from './code/slots.ts'
import { keepFolds } from './kept-folds.ts'
import { Draining } from './lease.ts'
import { keepReturns } from './lease-returns.ts'
import { renewLeases } from './lease-watch.ts'
import type { Models } from './llm/registry.ts'
import type { Log } from './log.ts'
import { waitUntilFree, watchLoop } from './loop-load.ts'
import type { McpServers } from './mcp/servers.ts'
import { createRuns } from './runs.ts'
import type { Tool } from './tools/tool.ts'
import type { Worker } from './worker.ts'

export type HarnessOptions = {
  store: LogStore
  models: Models
  /** Values beside those of the models that the store's redactor takes out: none may be written in halves. */
  secrets?: readonly string[]
  /** The store's redactor: what is shown and kept elsewhere loses the same. By default one for those values. */
  redact?: Redact
  /** All tools but those of MCP servers. */
  tools: readonly Tool[]
  /** Servers whose tools come and go; absent: there are none. */
  mcp?: Pick<McpServers, 'tools' | 'find'>
  config: Config
  /** Holds what is the service's own: memory files, and `checkpoints/<session id>` of files of the workspaces. */
  dataDir: string
  /** Holds a folder for each session, of its id, where its tools work. Apart from the data directory. */
  workspacesDir: string
  /** The directory of skills, absolute; absent: there are none. */
  skillsDir?: string
  workerId: string
  newId: () => string
  log: Log
  /** `Worker.makeFolder`; by default on the disk, off the event loop. */
  makeFolder?: Worker['makeFolder']
  /** `Worker.copies`; by default on the disk. */
  copies?: Worker['copies']
  /** Absent: none can run here. */
  codingAgents?: CodingAgents
  clock?: Clock
  random?: () => number
  /** Whether this process has no time to spare; by default its event loop says so. */
  isBusy?: () => boolean
  /** So many ids of a session's log apart its snapshots are at least; tests want them often. */
  snapshotEvery?: number
}
export type Harness = {
  /**
   * Drains: no new turns; running ones get `limits.drain_s` to reach a resting point, then are cut; leases
   * are given back.
   */
  stop(): Promise<void>
  /** Resolves when no turn runs and none is waiting to be claimed. */
  idle(): Promise<void>
  /** Turns that run right now. */
  active(): number
  /** Runs of coding agents that have a place here. */
  codeRuns(): number
  /** Whether something of the session still runs here, though it may be another's by now. */
  holds(sessionId: string): boolean
}

/** The slow poll behind the store's nudges: it also finds what dead workers left. */
const POLL_MS = 2000
const PRUNE_EVERY_MS = 60_000
const KEPT_FOLDS = 200
/** So long a run waits for a place among those of its worker. */
const LINE_MS = 10 * 60_000

export function startHarness(options: HarnessOptions): Harness {
  const { store, config, workerId, clock = systemClock, isBusy = watchLoop() } = options
  const { limits } = config
  const ttlMs = Math.round(limits.lease_s * 1000)
  const shutdown = new AbortController()
  const background = new Set<Promise<void>>()
  const worker = describeWorker({ ...options, isBusy }, shutdown.signal, background)
  const returns = keepReturns({ store, clock, everyMs: POLL_MS, ttlMs, signal: shutdown.signal })
  const deps = {
    worker,
    folds: keepFolds(worker, KEPT_FOLDS, options.snapshotEvery),
    returns,
    openCapabilities: keepCapabilities(worker),
  }
  const runs = createRuns(
    (claim, lease, begun) => actOnClaim(deps, claim, lease, begun),
    createBeginnings({ clock, isBusy }),
  )
  const { max_running: maxRuns } = config.schedules
  const claims = createClaims({ store, workerId, limits, maxRuns, ttlMs, log: options.log, runs })
  const upkeep = tasksOf(worker, () => renewLeases(store, workerId, runs.latestLeases(), ttlMs))

  const stops = [
    store.watchWork(claims.look),
    every(clock, POLL_MS, claims.look),
    every(clock, ttlMs / 3, upkeep.renew),
    ...upkeep.ofCapabilities.map(run => every(clock, POLL_MS, run)),
    ...(limits.delta_keep_s === 0 ? [] : [every(clock, PRUNE_EVERY_MS, upkeep.prune)]),
  ]
  claims.look()

  const idle = async (): Promise<void> => {
    while (claims.looking() !== null || runs.count() > 0 || background.size > 0)
      await Promise.allSettled([claims.looking(), ...runs.ends(), ...background])
  }

  return {
    idle,
    active: runs.count,
    codeRuns: () => worker.coding?.slots.taken() ?? 0,
    holds: runs.holds,
    async stop() {
      claims.stop()
      for (const stop of stops) stop()
      const keepLeases = every(clock, ttlMs / 3, upkeep.renew)
      const cancelCut = clock.after(limits.drain_s * 1000, () => {
        for (const lease of runs.leases()) lease.end(new Draining('the worker shuts down'))
      })
      shutdown.abort(new Draining('the worker shuts down'))
      await idle()
      await returns.done()
      cancelCut()
      keepLeases()
    },
  }
}

function describeWorker(
  options: HarnessOptions & Pick<Required<HarnessOptions>, 'isBusy'>,
  shutdown: AbortSignal,
  background: Set<Promise<void>>,
): Worker {
  const { clock = systemClock, random = Math.random, skillsDir, mcp } = options
  const secrets = [...options.models.secrets, ...(options.secrets ?? [])]
  return {
    ...options,
    tools: () => (mcp === undefined ? options.tools : [...options.tools, ...mcp.tools()]),
    findTool: (name, signal) => mcp?.find(name, signal) ?? Promise.resolve(null),
    id: options.workerId,
    clock,
    random,
    skillsDir,
    coding:
      options.codingAgents === undefined
        ? null
        : { agents: options.codingAgents, slots: createSlots(clock, options.config.code.max, LINE_MS) },
    makeFolder: options.makeFolder ?? makeSessionFolder,
    copies: options.copies ?? createCopies(options),
    redact: options.redact ?? createRedactor(secrets),
    holdBack: createHoldBack(secrets),
    shutdown,
    whenFree: () => waitUntilFree(clock, options.isBusy, shutdown),
    keepInBackground(running) {
      const task = running.finally(() => background.delete(task))
      background.add(task)
    },
  }
}

/** What is done again and again; what fails is done again the next time. */
function tasksOf(worker: Worker, renewHeld: () => Promise<void>) {
  const { store, config, clock, log } = worker
  const guarded = (what: string, run: () => Promise<unknown>) => async (): Promise<void> => {
    try {
      await run()
    } catch (thrown) {
      log('error', `${what} failed; it is tried again`, { error: asError(thrown).message })
    }
  }
  const keptMs = config.limits.delta_keep_s * 1000
  return {
    renew: guarded('renewing leases', renewHeld),
    ofCapabilities: upkeepOf(worker).map(({ what, run }) => guarded(what, run)),
    prune: guarded('pruning deltas', () => store.pruneDeltas(clock.now() - keptMs)),
  }
}
