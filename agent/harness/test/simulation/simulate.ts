/**
 * One seed of the simulation: a few sessions, workers that crash, freeze and lose their connections, people
 * who interfere, and then peace. Afterwards every session must have come to its end, and the logs, the
 * effects and what people and readers were told must agree.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Config, decodeEvent, type SessionEvent } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import { writeSnapshot } from '@cairn/state'
import { checkHistory, checkTree } from '@cairn/verify'
import { sessionFolder } from '@cairn/workspace'
import { startHarness } from '../../src/runner/runner.ts'
import { foldRecords, type Position, startPosition } from '../../src/turn/position.ts'
import { alice } from '../turn/stage.ts'
import { createModel, createTools, type Mood, noEffects } from './actors.ts'
import { countEvents, countTrees } from './counts.ts'
import { connectStore, createTruth, type Faults, type Truth } from './memory-store.ts'
import { checkMissionRows } from './missions.ts'
import { createPeople, isInjected } from './people.ts'
import { checkScheduleRows, countSchedules, hasLiveSchedules } from './schedules.ts'
import { createProcess, createWorld, type Process, type World } from './world.ts'

export type SimulationOutcome = {
  /** Every record of every session, in order: the whole history as bytes. */
  log: string
  problems: string[]
  /** How often the rarer things happened; a simulation that never met them has proven nothing about them. */
  counts: Record<string, number>
}

const LEASE_S = 10
const SETTINGS = {
  lease_s: LEASE_S,
  llm_heartbeat_s: 3,
  llm_stale_s: 8,
  tool_timeout_s: 20,
  llm_retries: 2,
  delta_coalesce_ms: 40,
  delta_keep_s: 20,
  drain_s: 3,
  concurrent_turns: 4,
}
/** Often, so that most wakes of a worker that is new to a session begin with one. */
const SNAPSHOT_EVERY = 9
const WORKERS = {
  agents: ['self', 'assistant', 'helper'],
  max_depth: 3,
  max_open: 3,
  max_total: 10,
  max_iterations: 6,
}
const OVER = new Set(['completed', 'failed', 'archived'])
/** The trouble lasts this long, in milliseconds of the simulation. */
const TROUBLE_MS = 60_000
/** So long after it people end the schedules that are left. */
const SCHEDULES_MS = 30_000
/** So long after it everything must have come to rest: leases run out, stale calls time out, retries wait. */
const PATIENCE_MS = 1_200_000

const CALM: Faults = { before: 0, after: 0, unheard: 0, maxDelayMs: 5 }

/** `dataDir` gets empty workspaces and nothing else; `planted` are the bugs that a simulation must find. */
export async function simulate(
  seed: number,
  dataDir: string,
  planted: { ignoreFence?: boolean } = {},
): Promise<SimulationOutcome> {
  const world = createWorld(seed)
  const truth = createTruth(world.now)
  try {
    return await play(world, truth, dataDir, planted)
  } finally {
    world.end()
    truth.close()
  }
}

async function play(
  world: World,
  truth: Truth,
  dataDir: string,
  planted: { ignoreFence?: boolean },
): Promise<SimulationOutcome> {
  const mood: Mood = { calm: false }
  const trouble: Faults = {
    before: world.random() * 0.04,
    after: world.random() * 0.04,
    unheard: world.random() * 0.5,
    maxDelayMs: world.between(1, 60),
    ...planted,
  }
  const faults = (): Faults => (mood.calm ? { ...CALM, ...planted } : trouble)
  const config = Config.parse({
    models: { default: 'sim/model', providers: { sim: { kind: 'scripted' } } },
    limits: SETTINGS,
    schedules: { tool: 'allow', max_failures: 2, max_running: world.between(1, 3) },
    agents: {
      assistant: {
        missions: { max_iterations: world.between(1, 4) },
        max_iterations: world.between(3, 12),
        ...(world.chance(0.3) ? { escalation_model: 'sim/stronger' } : {}),
        governance: { require_approval: ['guarded'] },
        workers: { ...WORKERS, enabled: world.chance(0.95) },
        saga: {
          enabled: world.chance(0.4),
          undo: { note: { tool: 'take_back', args: { value: '{{arguments.value}}' } } },
        },
      },
      // As a worker it has the rights of both; what works for it has them too.
      helper: {
        max_iterations: 8,
        governance: { denied_tools: ['put'] },
        workers: { ...WORKERS, may_ask: false },
      },
    },
  })
  const effects = noEffects()
  const problems: string[] = []
  const counts = { kills: 0, freezes: 0, drains: 0, snapshots: 0 }
  /** Whatever snapshot a worker begins with is what the log says up to there. */
  const judged = (store: LogStore): LogStore => {
    const read = store.snapshots.read
    store.snapshots.read = async (id, version) => {
      const found = await read(id, version)
      if (found === null) return null
      counts.snapshots += 1
      const records = truth.reader.read(id, 0, 100_000).filter(event => event.id <= found.last_id)
      if (writeSnapshot<Position>(foldRecords(startPosition, records)) !== found.body)
        problems.push(`${id}: the snapshot up to ${found.last_id} is not what its log says`)
      return found
    }
    return store
  }

  // People write messages, answer questions and end sessions.
  const outside = createProcess(world, 'people')
  const people = createPeople(
    world,
    connectStore(world, truth, outside, () => ({ ...faults(), ignoreFence: false })),
    config,
  )
  const sessions = Array.from({ length: world.between(1, 3) }, (_, n) => `session-${n + 1}`)
  for (const id of sessions) {
    truth.perform({
      do: 'create',
      at: world.now(),
      session: {
        id,
        org_id: alice.org_id,
        created_by: alice.id,
        created_by_kind: 'user',
        agent: 'assistant',
        channel: 'web',
        title: 'Titled',
      },
      config: '{}',
    })
    for (let left = world.between(2, 9); left > 0; left--)
      world.after(world.between(0, TROUBLE_MS), () => void people.act(id))
  }
  // Some lead a mission, or have a schedule.
  for (const id of sessions)
    for (const errand of ['mission', 'schedule'] as const) {
      if (world.chance(0.6)) continue
      const begins = world.between(0, TROUBLE_MS / 2)
      world.after(begins, () => void people.begin(errand, id))
      for (let left = world.between(0, 5); left > 0; left--)
        world.after(world.between(begins, TROUBLE_MS), () => void people.steer(errand, id))
    }
  // And what they do in the middle of trees, to workers and to those that have some.
  for (let left = world.between(3, 8); left > 0; left--)
    world.after(world.between(TROUBLE_MS / 20, TROUBLE_MS), () => {
      const rows = truth.sessions()
      const open = rows.filter(row => row.parent_id !== null && !OVER.has(row.status))
      const worker = open[world.between(0, Math.max(0, open.length - 1))]
      if (worker === undefined) return
      const above = rows.find(row => row.id === worker.parent_id)
      const isMid = above !== undefined && above.parent_id !== null
      void people.meddle(isMid && world.chance(0.8) ? above.id : worker.id)
    })

  // Runners claim sessions and run turns, and may die at any moment.
  const isOnDisk = (sessionId: string, callId: string): boolean =>
    truth.reader
      .read(sessionId, 0, 100_000, ['tool.call'])
      .some(
        ({ json }) => (JSON.parse(json) as { data: { tool_call_id: string } }).data.tool_call_id === callId,
      )
  const workers: { process: Process; drain: () => Promise<void> }[] = []
  function startWorker(): void {
    const process = createProcess(world, `worker-${world.newId()}`, world.between(-3000, 3000))
    const harness = startHarness({
      store: judged(connectStore(world, truth, process, faults)),
      models: createModel(world, process, mood, effects),
      tools: createTools(world, process, effects, isOnDisk),
      config,
      dataDir,
      workspacesDir: join(dataDir, 'workspaces'),
      // What is left to the thread pool comes when it likes, and the same seed would be another history.
      makeFolder(root, sessionId) {
        const path = sessionFolder(root, sessionId)
        mkdirSync(path, { recursive: true })
        return Promise.resolve(path)
      },
      // No tool of the simulation writes a file.
      copies: {
        make: () => Promise.resolve(),
        changes: () => Promise.resolve(null),
        original: () => Promise.resolve(null),
        merged: () => Promise.resolve({}),
        keepMerged: () => Promise.resolve(),
        scratch: () => Promise.resolve({ path: dataDir, [Symbol.asyncDispose]: () => Promise.resolve() }),
      },
      runnerId: process.name,
      newId: world.newId,
      clock: process.clock,
      random: world.random,
      isBusy: () => world.chance(0.3),
      snapshotEvery: SNAPSHOT_EVERY,
      logger(level, message, fields) {
        const text = `${message} ${JSON.stringify(fields ?? {})}`
        if (level === 'error' && !isInjected(text)) problems.push(`${process.name}: ${text}`)
      },
    })
    workers.push({ process, drain: () => harness.stop() })
  }
  const living = (): typeof workers => workers.filter(({ process }) => process.alive())
  for (let left = world.between(1, 3); left > 0; left--) startWorker()
  for (let left = world.between(0, 6); left > 0; left--) {
    world.after(world.between(0, TROUBLE_MS), () => {
      const victim = living()[world.between(0, 2)]
      if (victim === undefined) return startWorker()
      world.pick<() => void>([
        [
          4,
          () => {
            counts.kills += 1
            victim.process.kill()
            world.after(world.between(0, 8000), startWorker)
          },
        ],
        [
          3,
          () => {
            counts.freezes += 1
            victim.process.freeze(world.between(500, 3 * LEASE_S * 1000))
          },
        ],
        [
          1,
          () => {
            counts.drains += 1
            void victim.drain().then(() => victim.process.kill())
            world.after(world.between(0, 3000), startWorker)
          },
        ],
      ])()
    })
  }

  // One reader follows every log.
  const shown = new Map<string, string[]>(sessions.map(id => [id, []]))
  const cursors = new Map<string, number>()
  const follow = (id: string): void => {
    const events = truth.reader.read(id, cursors.get(id) ?? 0, world.between(1, 40))
    for (const { json } of events) shown.get(id)?.push(json)
    cursors.set(id, events.at(-1)?.id ?? cursors.get(id) ?? 0)
    world.after(world.between(20, 2000), () => follow(id))
  }
  for (const id of sessions) follow(id)

  // Faults occur until TROUBLE_MS. After that no process dies.
  await world.run(() => false, TROUBLE_MS)
  mood.calm = true
  startWorker()
  const endSchedules = (): void =>
    void people.endSchedules().then(() => {
      if (hasLiveSchedules(truth)) world.after(1000, endSchedules)
    })
  world.after(SCHEDULES_MS, endSchedules)
  const isResting = (): boolean =>
    people.waiting() === 0 &&
    truth
      .sessions()
      .every(
        row =>
          row.saga !== 2 &&
          !(row.status === 'active' && row.wake_id > row.cursor) &&
          (row.worker_id === null || row.lease_until < world.now()),
      ) &&
    !hasLiveSchedules(truth)
  for (let round = 0; round < 2; round++) {
    if (!(await world.run(isResting, PATIENCE_MS)))
      problems.push(
        `not at rest: ${JSON.stringify(truth.sessions().map(({ id, status, wake_id, cursor, worker_id, lease_until, saga }) => ({ id, status, wake_id, cursor, worker_id, lease_until, saga })))}`,
      )
    if (round > 0) break
    for (const { id } of truth.sessions()) void people.settle(id)
    await world.run(() => people.waiting() === 0, PATIENCE_MS)
  }

  // The logs and rows are judged.
  const logs = new Map(
    truth.sessions().map(({ id }) => [id, truth.reader.read(id, 0, 1_000_000).map(({ json }) => json)]),
  )
  const events = new Map([...logs].map(([id, lines]) => [id, lines.map(decodeEvent)]))
  for (const [id, log] of events) {
    problems.push(
      ...checkHistory(log, { settled: true, current: true }).map(problem => `${id}: ${problem}`),
      ...checkCrashes(log).map(problem => `${id}: ${problem}`),
    )
    const stored = new Set(logs.get(id))
    // A chunk of an answer may have been pruned since.
    for (const line of shown.get(id) ?? [])
      if (!stored.has(line) && decodeEvent(line).type !== 'llm.delta')
        problems.push(`${id}: a reader was shown ${line}, which is gone`)
    const seen = (shown.get(id) ?? []).map(line => decodeEvent(line).id)
    if (seen.some((event, at) => event <= (seen[at - 1] ?? 0)))
      problems.push(`${id}: a reader was shown events out of order`)
  }
  problems.push(...truth.check())
  const families = sessions.map(root => familyOf(truth, root, events))
  const rights = { agent: 'assistant', agents: config.agents }
  for (const family of families) problems.push(...checkTree(family, { settled: true, rights }))
  for (const [id, log] of events)
    problems.push(...checkTaskRows(truth, id, log), ...checkMissionRows(truth, id, log))
  problems.push(...checkScheduleRows(truth, events))
  for (const { session_id, id, content } of people.told) {
    const said = events.get(session_id)?.find(event => event.id === id)
    if (said?.type !== 'user.message' || said.data.content !== content)
      problems.push(`${session_id}: the acknowledged message ${id} is ${said?.type ?? 'gone'}`)
  }
  const all = [...events.values()].flat()
  problems.push(...people.problems, ...effects.problems, ...checkEffects(all, effects))
  return {
    log: [...logs.values()]
      .flat()
      .map(line => `${line}\n`)
      .join(''),
    problems,
    counts: { ...counts, ...countEvents(all), ...countTrees(families), ...countSchedules(truth) },
  }
}

/** The logs of a session and of all below it. */
function familyOf(
  truth: Truth,
  root: string,
  events: ReadonlyMap<string, SessionEvent[]>,
): Map<string, SessionEvent[]> {
  const family = new Map<string, SessionEvent[]>([[root, events.get(root) ?? []]])
  // Parents are made before their children.
  for (const { id, parent_id } of truth.sessions())
    if (parent_id !== null && family.has(parent_id)) family.set(id, events.get(id) ?? [])
  return family
}

/** The rows of tasks are what the log says, and a task that is not over has somebody who can move it. */
function checkTaskRows(truth: Truth, owner: string, log: readonly SessionEvent[]): string[] {
  const said = (type: SessionEvent['type'], id: string): boolean =>
    log.some(event => event.type === type && 'task_id' in event.data && event.data.task_id === id)
  return truth.resources.tasks.list(owner).flatMap(({ task_id, status, state }) => {
    const found: string[] = []
    if ((status === 'done') !== said('worker.complete', task_id)) found.push('is done in one place only')
    if ((status === 'failed') !== said('task.failed', task_id)) found.push('failed in one place only')
    const isAtWork = status === 'running' || status === 'blocked'
    if (isAtWork !== (truth.resources.links.get(state.worker_id ?? '')?.status === 'open'))
      found.push(`is ${status}, and its worker is not so`)
    if (status === 'todo' && truth.resources.links.children(owner, { open: true }).length === 0)
      found.push('waits, and nobody is at work')
    if (status === 'blocked') {
      const row = truth.sessions().find(session => session.id === owner)
      const asked = truth.resources.inbox.list({
        org_id: alice.org_id,
        session_id: owner,
        status: ['pending'],
        limit: 100,
      }).items
      const isAsked = asked.some(({ payload }) => payload['target'] === task_id)
      // A block that reaches an owner who has failed or is paused waits until a person resumes that session.
      const lastOf = (type: SessionEvent['type']): number => log.findLast(each => each.type === type)?.id ?? 0
      const isHeld =
        row?.status === 'paused' ||
        (row?.status === 'failed' && lastOf('session.fail') < lastOf('task.blocked'))
      if (!isAsked && !isHeld) found.push('is blocked, and nobody was asked')
    }
    return found.map(what => `${owner}: task ${task_id} ${what}`)
  })
}

/** An exception of the runtime that no injected fault explains is a bug. */
const checkCrashes = (log: readonly SessionEvent[]): string[] =>
  log.flatMap(event =>
    event.type === 'harness.crash' && !isInjected(event.data.error ?? '')
      ? [`the runtime crashed: ${event.data.error}`]
      : [],
  )

const ONCE = new Set(['note', 'guarded', 'slow', 'fail', 'take_back'])
function checkEffects(events: readonly SessionEvent[], effects: ReturnType<typeof noEffects>): string[] {
  const found: string[] = []
  for (const event of events) {
    if (event.type !== 'tool.result' || !ONCE.has(event.data.name)) continue
    const { tool_call_id, name, content, elapsed_ms } = event.data
    const [started, done] = [effects.started.get(tool_call_id) ?? 0, effects.done.get(tool_call_id) ?? 0]
    if (started > 1) found.push(`${name} ${tool_call_id} was started ${started} times`)
    if (elapsed_ms === 0 && started > 0)
      found.push(`${name} ${tool_call_id} is said not to have run, and was started`)
    if (!content.includes('"error"') && done !== 1)
      found.push(`${name} ${tool_call_id} is said to have run, and took effect ${done} times`)
  }
  for (const [value, times] of effects.undone)
    if (times > 1) found.push(`the note ${value} was taken back ${times} times`)
  return found
}
