/**
 * The runner (contract 8): claims sessions with work, renews their leases, runs their turns concurrently, and
 * releases everything on shutdown. Many runners, in one process or several, share one log.
 */
import { createStreamRedactor, createRedactor, type LogStore, type Redact } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import { makeSessionFolder } from '@cairn/workspace'
import { createWorkspaceCopies } from '../tools/workspace-copies.ts'
import { resume } from './resume.ts'
import { createCapabilities, createCoding, maintenanceTasks } from '../capabilities/index.ts'
import { createClaims, createRuns, createTurnAdmission, monitorEventLoop, waitUntilFree } from './claims.ts'
import { type Clock, every, systemClock } from '@cairn/models/clock'
import type { Coding } from '../capabilities/code/coding.ts'
import { createSnapshotCache } from './snapshots.ts'
import { Draining } from '../turn/lease.ts'
import { createLeaseReleaseRetry, renewLeases } from './lease.ts'
import type { Models } from '@cairn/models'
import type { Logger } from '@cairn/models/logger'
import type { McpServers } from '../capabilities/mcp/servers.ts'
import type { Tool } from '../tools/tool.ts'
import type { RunnerDeps } from '../runner-deps.ts'

export type HarnessOptions = {
  store: LogStore
  models: Models
  /**
   * Values besides those of the models that the store's redactor removes; none of them may be split across
   * writes.
   */
  secrets?: readonly string[]
  /**
   * The store's redactor, also applied to what is shown and stored elsewhere. Default: one for those values.
   */
  redact?: Redact
  /** All tools except those of MCP servers. */
  tools: readonly Tool[]
  /** Servers whose tools may change at any time; absent: none. */
  mcp?: Pick<McpServers, 'tools' | 'find'> & Partial<Pick<McpServers, 'prepare'>>
  config: Config
  /** Holds the service's own files: memory files, and `checkpoints/<session id>` of workspace files. */
  dataDir: string
  /**
   * Contains a folder per session, named by its id, in which its tools work. Separate from the data
   * directory.
   */
  workspacesDir: string
  /** The directory of skills, absolute; absent: none. */
  skillsDir?: string
  /** `RunnerDeps.scopeOf`; absent: `config` and `models` for every session. */
  scopeOf?: RunnerDeps['scopeOf']
  runnerId: string
  newId: () => string
  logger: Logger
  /** `RunnerDeps.makeFolder`; default: on disk, off the event loop. */
  makeFolder?: RunnerDeps['makeFolder']
  /** `RunnerDeps.copies`; default: on disk. */
  copies?: RunnerDeps['copies']
  /** Absent: no coding agent can run here. */
  codingAgents?: Coding['agents']
  clock?: Clock
  random?: () => number
  /** Whether this process is saturated; default: measured on its event loop. */
  isBusy?: () => boolean
  /** Minimum distance, in event ids, between snapshots of a session's log; tests use a small one. */
  snapshotEvery?: number
}
export type Harness = {
  /**
   * Drains: no new turns; running ones get `limits.drain_s` to reach a resting point and are then aborted;
   * leases are released.
   */
  stop(): Promise<void>
  /** Resolves when no turn runs and none is waiting to be claimed. */
  idle(): Promise<void>
  /** Number of running turns. */
  active(): number
  /** Number of coding agent runs that have a place here. */
  codeRuns(): number
  /** Whether something of the session still runs here, even if another runner has claimed it. */
  holds(sessionId: string): boolean
}

/**
 * Interval of the slow poll that backs up the store's notifications; it also finds what crashed runners left.
 */
const POLL_MS = 2000
const PRUNE_EVERY_MS = 60_000
const MAX_CACHED_FOLDS = 200

export function startHarness(options: HarnessOptions): Harness {
  const { store, config, runnerId, clock = systemClock, isBusy = monitorEventLoop() } = options
  const { limits } = config
  const ttlMs = Math.round(limits.lease_s * 1000)
  const shutdown = new AbortController()
  const background = new Set<Promise<void>>()
  const runner = describeRunner({ ...options, isBusy }, shutdown.signal, background)
  const releaseRetry = createLeaseReleaseRetry({
    store,
    clock,
    everyMs: POLL_MS,
    ttlMs,
    signal: shutdown.signal,
  })
  const deps = {
    runner,
    snapshots: createSnapshotCache(runner, MAX_CACHED_FOLDS, options.snapshotEvery),
    releaseRetry,
    openCapabilities: createCapabilities(),
  }
  const runs = createRuns(
    (claim, lease, onStarted) => resume(deps, claim, lease, onStarted),
    createTurnAdmission({ clock, isBusy }),
  )
  const { max_running: maxRuns } = config.schedules
  const claims = createClaims({ store, runnerId, limits, maxRuns, ttlMs, logger: options.logger, runs })
  const maintenance = createMaintenance(runner, () =>
    renewLeases(store, runnerId, runs.latestLeases(), ttlMs),
  )

  const stops = [
    store.leases.watch(claims.poll),
    every(clock, POLL_MS, claims.poll),
    every(clock, ttlMs / 3, maintenance.renew),
    ...maintenance.ofCapabilities.map(run => every(clock, POLL_MS, run)),
    ...(limits.delta_keep_s === 0 ? [] : [every(clock, PRUNE_EVERY_MS, maintenance.prune)]),
  ]
  claims.poll()

  const idle = async (): Promise<void> => {
    while (claims.polling() !== null || runs.count() > 0 || background.size > 0)
      await Promise.allSettled([claims.polling(), ...runs.ends(), ...background])
  }

  return {
    idle,
    active: runs.count,
    codeRuns: () => runner.coding?.semaphore.taken() ?? 0,
    holds: runs.holds,
    async stop() {
      claims.stop()
      for (const stop of stops) stop()
      const keepLeases = every(clock, ttlMs / 3, maintenance.renew)
      const cancelCut = clock.after(limits.drain_s * 1000, () => {
        for (const lease of runs.leases()) lease.end(new Draining('the worker shuts down'))
      })
      shutdown.abort(new Draining('the worker shuts down'))
      await idle()
      await releaseRetry.done()
      cancelCut()
      keepLeases()
    },
  }
}

function describeRunner(
  options: HarnessOptions & Pick<Required<HarnessOptions>, 'isBusy'>,
  shutdown: AbortSignal,
  background: Set<Promise<void>>,
): RunnerDeps {
  const { clock = systemClock, random = Math.random, skillsDir, mcp } = options
  const secrets = [...options.models.secrets, ...(options.secrets ?? [])]
  return {
    ...options,
    tools: owner => (mcp === undefined ? options.tools : [...options.tools, ...mcp.tools(owner)]),
    findTool: (name, signal, owner) => mcp?.find(name, signal, owner) ?? Promise.resolve(null),
    prepareTools: (owner, signal) => mcp?.prepare?.(owner, signal) ?? Promise.resolve(),
    id: options.runnerId,
    clock,
    random,
    skillsDir,
    coding:
      options.codingAgents === undefined
        ? null
        : createCoding(options.codingAgents, clock, options.config.code.max),
    makeFolder: options.makeFolder ?? makeSessionFolder,
    copies: options.copies ?? createWorkspaceCopies(options),
    redact: options.redact ?? createRedactor(secrets),
    streamRedactor: createStreamRedactor(secrets),
    shutdown,
    whenFree: () => waitUntilFree(clock, options.isBusy, shutdown),
    keepInBackground(running) {
      const task = running.finally(() => background.delete(task))
      background.add(task)
    },
  }
}

/** Periodic tasks; a failed one runs again at the next interval. */
function createMaintenance(runner: RunnerDeps, renewHeld: () => Promise<void>) {
  const { store, config, clock, logger } = runner
  const guarded = (what: string, run: () => Promise<unknown>) => async (): Promise<void> => {
    try {
      await run()
    } catch (error) {
      logger('error', `${what} failed; it will be retried`, { error: asError(error).message })
    }
  }
  const keptMs = config.limits.delta_keep_s * 1000
  return {
    renew: guarded('renewing leases', renewHeld),
    ofCapabilities: maintenanceTasks(runner).map(({ what, run }) => guarded(what, run)),
    prune: guarded('pruning deltas', () => store.events.pruneDeltas(clock.now() - keptMs)),
  }
}
