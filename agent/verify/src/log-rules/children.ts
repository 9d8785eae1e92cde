/**
 * Children of a session (contract 14.4): each outcome belongs to a spawn, and each spawn has at most one.
 * Rules over one log; the rules across the logs of a tree are in `tree.ts`. Part of `checkHistory`.
 */
import type { SessionEvent } from '@cairn/protocol'
import { WAIT_TOOL, BLOCK_TOOL } from '@cairn/state'

export type ChildRules = {
  /** Feed it the events of a log in order; it returns the violations of the event. */
  check(event: SessionEvent): string[]
  /** Whether workers without an outcome exist. */
  areOpen(): boolean
  /**
   * A turn may rest while a call waits for children; a worker may also rest while its own workers run or an
   * approval is open.
   */
  mayRest(): boolean
}

export function childRules(): ChildRules {
  const spawned = new Set<string>()
  const settled = new Set<string>()
  const waiting = new Set<string>()
  const approvals = openApprovals()
  /** Delegated children whose end has not been reported. */
  const delegated = new Set<string>()
  /** Set while a worker is paused: a stop must then be followed by its end. */
  let paused = false
  let stoppedWhilePaused = false

  function settle(id: string): string[] {
    const found = [
      ...(spawned.has(id) ? [] : [`worker ${id} was not spawned before it`]),
      ...(settled.has(id) ? [`worker ${id} already has an outcome`] : []),
    ]
    settled.add(id)
    if (delegated.has(id)) found.push(`the delegation of ${id} has no end before its outcome`)
    return found
  }

  function checkOne(event: SessionEvent): string[] {
    switch (event.type) {
      case 'worker.spawned': {
        const { worker_id } = event.data
        const again = spawned.has(worker_id)
        spawned.add(worker_id)
        return again ? [`worker ${worker_id} was spawned before`] : []
      }
      case 'worker.complete':
      case 'worker.failed':
        return settle(event.data.worker_id)
      case 'tool.call':
        if (event.data.name === WAIT_TOOL || event.data.name === BLOCK_TOOL)
          waiting.add(event.data.tool_call_id)
        return []
      case 'delegation.start':
        waiting.add(event.data.tool_call_id)
        delegated.add(event.data.child_session_id)
        return []
      case 'task.blocked': {
        const { worker_id } = event.data
        return spawned.has(worker_id) && !settled.has(worker_id)
          ? []
          : [`worker ${worker_id}, which blocked its task, is not open`]
      }
      case 'delegation.complete':
      case 'delegation.failed':
        return delegated.delete(event.data.child_session_id)
          ? []
          : [`the delegation of ${event.data.child_session_id} has not started, or has ended`]
      case 'delegation.stale':
        return delegated.has(event.data.child_session_id)
          ? []
          : [`${event.data.child_session_id} is reported as idle, but it has no open delegation`]
      case 'tool.result':
        waiting.delete(event.data.tool_call_id)
        return []
      default:
        return []
    }
  }

  return {
    check(event) {
      const found = checkOne(event)
      approvals.look(event)
      if (stoppedWhilePaused && event.type !== 'session.complete')
        found.push('a stop of a paused session must be followed by session.complete')
      stoppedWhilePaused = paused && event.type === 'session.stopped'
      if (event.type === 'session.pause') paused = true
      else if (event.type === 'session.resume' || event.type === 'session.complete') paused = false
      return found
    },
    areOpen: () => settled.size < spawned.size,
    mayRest: () => waiting.size > 0 || settled.size < spawned.size || approvals.holdWorker(),
  }
}

/** A worker does not end while one of its calls waits for approval. */
function openApprovals() {
  let isWorker = false
  const gates = new Set<string>()
  return {
    holdWorker: (): boolean => isWorker && gates.size > 0,
    look(event: SessionEvent): void {
      if (event.type === 'inbox.governance_gate' && event.data.repeats_tool_call_id === undefined)
        gates.add(event.data.tool_call_id)
      if (event.type !== 'user.message') return
      const { synthetic, tool_call_id } = event.data
      if (synthetic === 'worker_goal' || synthetic === 'loop_run') isWorker = true
      if (synthetic === 'governance_decision' && tool_call_id !== undefined) gates.delete(tool_call_id)
    },
  }
}

/** Stopping a worker ends it immediately, even when paused or with open calls. */
export const endsWorker = (event: SessionEvent): boolean =>
  event.type === 'session.stopped' || (event.type === 'session.complete' && event.data.reason === 'stopped')
