/**
 * Consistency between the logs of a tree, regardless of who wrote them and how often the writers crashed
 * (contract 14.4): an independent check that shares no code with the writers. `checkHistory` checks each log
 * by itself.
 */
import type { SessionBudget, SessionEvent } from '@cairn/protocol'
import { checkBoard } from './board.ts'
import { checkBudget } from './budgets.ts'
import { checkCascades } from './cascades.ts'
import { type Chain, checkRights, type TreeRights } from './rights.ts'
import { checkResults, checkRun, isOpenRun, isRunLog } from './runs.ts'
import { checkTasks } from './tasks.ts'
import { checkUsage } from './usage.ts'
import { checkWaits } from './waits.ts'

type Logs = ReadonlyMap<string, readonly SessionEvent[]>
type Spawn = {
  parent: string
  depth: number
  at: number
  agent: string
  call: string | undefined
  budget: SessionBudget | undefined
}
export type TreeOptions = {
  /** No session of the tree is being run any more. */
  settled?: boolean
  /** The rights of the agents; without them rights are not checked. */
  rights?: TreeRights
}

/** Violations, each a sentence that names the session. `logs` has the root first, then its descendants. */
export function checkTree(logs: Logs, { settled = false, rights }: TreeOptions = {}): string[] {
  const found: string[] = []
  const spawns = new Map<string, Spawn>()
  const outcomes = new Map<string, { parent: string; event: SessionEvent }[]>()
  for (const [parent, log] of logs) {
    for (const event of log) {
      if (event.type === 'worker.spawned') {
        const { worker_id, depth, agent, tool_call_id: call, budget } = event.data
        if (spawns.has(worker_id)) found.push(`${parent}: worker ${worker_id} was spawned twice`)
        if (!logs.has(worker_id)) found.push(`${parent}: worker ${worker_id} has no log`)
        spawns.set(worker_id, { parent, depth, at: event.id, agent, call, budget })
      }
      if (event.type === 'worker.complete' || event.type === 'worker.failed') {
        const { worker_id } = event.data
        outcomes.set(worker_id, [...(outcomes.get(worker_id) ?? []), { parent, event }])
      }
    }
  }
  const [root] = logs.keys()
  for (const [id, log] of logs) {
    if (id === root) continue
    if (isRunLog(log)) {
      found.push(...checkRun(id, log, logs))
      continue
    }
    const spawn = spawns.get(id)
    if (spawn === undefined) found.push(`${id}: no session spawned it`)
    else found.push(...checkChild(id, log, spawn, spawns, outcomes.get(id) ?? []))
    if (spawn?.budget !== undefined) found.push(...checkBudget(id, log, spawn.budget))
  }
  for (const [id, log] of logs) {
    const spawn = spawns.get(id)
    const isOpen = spawn !== undefined && !outcomes.has(id)
    // A scheduled run has no parent that waits for it.
    const above = isOpen ? logs.get(spawn.parent) : isOpenRun(log) ? [] : undefined
    found.push(
      ...checkTasks(id, log),
      ...checkBoard(id, log),
      ...checkCascades(id, log, spawn !== undefined || isRunLog(log), logs),
      ...(settled ? checkWaits(id, log, above) : []),
      ...(rights === undefined ? [] : checkRights(id, log, chainOf(id, spawns, logs, rights), rights)),
    )
  }
  found.push(...checkResults(logs))
  for (const id of outcomes.keys())
    if (!spawns.has(id)) found.push(`${id}: it has an outcome, but no session spawned it`)
  return found
}

/** A session and its ancestors. */
function chainOf(id: string, spawns: ReadonlyMap<string, Spawn>, logs: Logs, rights: TreeRights): Chain {
  const spawn = spawns.get(id)
  // The agent of a scheduled run comes from its schedule.
  if (spawn === undefined) return isRunLog(logs.get(id) ?? []) ? [] : [{ agent: rights.agent }]
  const made = logs
    .get(spawn.parent)
    ?.find(event => event.type === 'tool.call' && event.data.tool_call_id === spawn.call)
  const tools = made?.type === 'tool.call' ? made.data.arguments['tools'] : undefined
  return [
    { agent: spawn.agent, ...(Array.isArray(tools) ? { tools: tools.map(String) } : {}) },
    ...chainOf(spawn.parent, spawns, logs, rights),
  ]
}

function checkChild(
  id: string,
  log: readonly SessionEvent[],
  spawn: Spawn,
  spawns: ReadonlyMap<string, Spawn>,
  outcomes: readonly { parent: string; event: SessionEvent }[],
): string[] {
  const found: string[] = []
  const above = spawns.get(spawn.parent)?.depth ?? 0
  if (spawn.depth !== above + 1) found.push(`${id}: its depth is ${spawn.depth}, that of its parent ${above}`)
  if (outcomes.length > 1) found.push(`${id}: it has ${outcomes.length} outcomes`)
  for (const { parent, event } of outcomes) {
    if (parent !== spawn.parent)
      found.push(`${id}: ${spawn.parent} spawned it, but its outcome is in the log of ${parent}`)
    else if (event.id < spawn.at) found.push(`${id}: its outcome precedes its spawn`)
  }
  // The parent learns of the first end; later questions to a settled worker stay between it and its user.
  const end = log.find(event => event.type === 'session.complete' || event.type === 'session.fail')
  const [outcome] = outcomes
  if (end !== undefined && outcome === undefined)
    found.push(`${id}: it has ended, but its parent has no outcome`)
  if (end === undefined && outcome !== undefined)
    found.push(`${id}: its parent has an outcome, but it has not ended`)
  if (end !== undefined && outcome !== undefined)
    found.push(...checkOutcome(id, end, outcome.event), ...checkUsage(id, log, end, outcome.event))
  return found
}

/** The outcome must match the end and be written in the same transaction. */
function checkOutcome(id: string, end: SessionEvent, outcome: SessionEvent): string[] {
  const found: string[] = []
  if (end.created_at !== outcome.created_at)
    found.push(`${id}: it ended at ${end.created_at}, but its outcome is of ${outcome.created_at}`)
  const succeeded = end.type === 'session.complete' && end.data.reason === 'completed'
  if (outcome.type === 'worker.complete' && !succeeded)
    found.push(`${id}: its outcome is worker.complete, but it ended with ${end.type}`)
  if (outcome.type === 'worker.failed' && succeeded && outcome.data.cause !== 'empty')
    found.push(`${id}: its outcome is worker.failed (${outcome.data.cause}), but it completed`)
  return found
}
