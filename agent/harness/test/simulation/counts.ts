/** What happened in a simulation, counted from its logs. */
import type { SessionEvent } from '@cairn/protocol'

type Log = readonly SessionEvent[]

export function countEvents(events: readonly SessionEvent[]): Record<string, number> {
  const of = (test: (event: SessionEvent) => boolean): number => events.filter(test).length
  return {
    events: events.length,
    tool_calls: of(({ type }) => type === 'tool.call'),
    recoveries: of(({ type }) => type === 'harness.recovered'),
    crashes: of(({ type }) => type === 'harness.crash'),
    unknown: of(event => event.type === 'tool.result' && event.data.content.includes('outcome unknown')),
    stops: of(({ type }) => type === 'session.stopped'),
    pauses: of(({ type }) => type === 'session.pause'),
    failures: of(({ type }) => type === 'session.fail'),
    completions: of(({ type }) => type === 'session.complete'),
    gates: of(({ type }) => type === 'inbox.governance_gate'),
    granted: of(event => event.type === 'policy.allowed' && 'reason' in event.data),
    questions: of(({ type }) => type === 'inbox.input_required'),
    goals: of(({ type }) => type === 'span.outcome_evaluation_end'),
    rollbacks: of(({ type }) => type === 'saga.complete'),
    heartbeats: of(({ type }) => type === 'llm.heartbeat'),
    compactions: of(({ type }) => type === 'context.compact'),
    spawns: of(({ type }) => type === 'worker.spawned'),
    results: of(({ type }) => type === 'worker.complete'),
    cascades: of(event => event.type === 'worker.failed' && event.data.cause === 'parent'),
    stopped_workers: of(event => event.type === 'worker.failed' && event.data.cause === 'cancelled'),
    delegations: of(({ type }) => type === 'delegation.start'),
    tasks: of(event => event.type === 'worker.spawned' && event.data.task_id !== undefined),
    retries: of(event => event.type === 'worker.failed' && event.data.will_retry === true),
    blocks: of(({ type }) => type === 'task.blocked'),
    unblocked: of(event => event.type === 'user.message' && event.data.synthetic === 'task_unblocked'),
    asked_about: of(
      event => event.type === 'inbox.action_required' && event.data.action_type === 'task_blocked',
    ),
    failed_tasks: of(({ type }) => type === 'task.failed'),
    notes: of(({ type }) => type === 'board.note'),
    snapshots_of_boards: of(event => event.type === 'board.update' && event.data.kind === 'snapshot'),
    deltas_of_boards: of(event => event.type === 'board.update' && event.data.kind === 'delta'),
    timeouts: of(event => event.type === 'worker.failed' && event.data.cause === 'timeout'),
    missions: of(({ type }) => type === 'mission.defined'),
    verdicts: of(({ type }) => type === 'mission.evaluation.end'),
    rounds: of(({ type }) => type === 'mission.continuation'),
    mission_pauses: of(({ type }) => type === 'mission.paused'),
    mission_resumes: of(({ type }) => type === 'mission.resumed'),
    mission_cancels: of(({ type }) => type === 'mission.cancelled'),
    mission_deadlines: of(
      event => event.type === 'user.message' && event.data.synthetic === 'mission_deadline',
    ),
    mission_budgets: of(event => event.type === 'mission.evaluation.end' && event.data.trigger === 'budget'),
    interrupted_gradings:
      of(({ type }) => type === 'mission.evaluation.start') -
      of(({ type }) => type === 'mission.evaluation.end'),
    loop_results: of(({ type }) => type === 'loop.result'),
    loop_wakes: of(event => event.type === 'loop.result' && event.data.wake === true),
    loop_failures: of(event => event.type === 'loop.result' && event.data.outcome === 'failed'),
    loop_stops: of(event => event.type === 'loop.result' && event.data.outcome === 'cancelled'),
    reopened: of(event => event.type === 'session.resume' && event.data.source === 'worker'),
  }
}

/** By the logs of a root and of all below it, the root first. */
export function countTrees(families: readonly ReadonlyMap<string, Log>[]): Record<string, number> {
  const trees = families.filter(({ size }) => size > 1)
  const children = trees.flatMap(family => [...family].slice(1).map(([, log]) => upToEnd(log)))
  const of = (test: (event: SessionEvent, log: Log) => boolean): number =>
    children.reduce((sum, log) => sum + log.filter(event => test(event, log)).length, 0)
  return {
    trees: trees.length,
    told_by_people: of(event => event.type === 'user.message' && event.data.synthetic === undefined),
    stopped_by_people: of(isStopped),
    stopped_mid_tree: of((event, log) => isStopped(event) && hasEndedWith(event, log)),
    paused_by_people: of(isPaused),
    paused_by_parent: of(event => event.type === 'session.pause' && !isPaused(event)),
    paused_mid_tree: trees.reduce((sum, family) => sum + pausedMidTree(family), 0),
    resumed_by_people: of(({ type, data }) => type === 'session.resume' && data.source === 'user'),
    resumed_by_parent: of(({ type, data }) => type === 'session.resume' && data.source === 'parent'),
  }
}

/** What comes after it is between a worker and its user. */
function upToEnd(log: Log): Log {
  const end = log.findIndex(({ type }) => type === 'session.complete' || type === 'session.fail')
  return end < 0 ? log : log.slice(0, end + 1)
}

const isStopped = (event: SessionEvent): boolean =>
  event.type === 'session.stopped' && ['user', 'stopped by user'].includes(event.data.reason)
const isPaused = (event: SessionEvent): boolean =>
  event.type === 'session.pause' && event.data.reason !== 'parent_paused'

/** Whether workers of its own have ended with it. */
const hasEndedWith = ({ created_at }: SessionEvent, log: Log): boolean =>
  log.some(
    event =>
      event.type === 'worker.failed' && event.data.cause === 'parent' && event.created_at === created_at,
  )

/** Pauses of workers with workers of their own, which were paused with them. */
function pausedMidTree(family: ReadonlyMap<string, Log>): number {
  const [root, ...children] = family.keys()
  return children.filter(id => {
    const log = family.get(id) ?? []
    const own = log.flatMap(event => (event.type === 'worker.spawned' ? [event.data.worker_id] : []))
    const isWith = (at: string): boolean =>
      own.some(child =>
        family.get(child)?.some(({ type, created_at }) => type === 'session.pause' && created_at === at),
      )
    return id !== root && log.some(event => isPaused(event) && isWith(event.created_at))
  }).length
}
