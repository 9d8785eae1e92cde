/**
 * Workers as a row of the capabilities: the tools that create, list and control them, and the effect of their
 * outcomes on the turn. A waiting parent waits in the fold of its log: its lease is released, and an outcome
 * wakes it.
 */
import { isOver, type Wait } from '@cairn/state'
import { dropDelegationTimer } from '@cairn/sessions'
import { agentOf } from '../../governance/agent.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { Position } from '../../turn/position.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { applyWorkerFilesTool } from './apply-worker-files.ts'
import { closeCall } from './close-call.ts'
import { delegateTaskTool } from './delegate-task.ts'
import { listWorkersTool, readWorkerResultTool } from './read-workers.ts'
import { type SpawnContext, createSpawnContext } from './spawn-context.ts'
import { spawnWorkerTool } from './spawn-worker.ts'
import { sendWorkerMessageTool, stopWorkerTool } from './worker-commands.ts'
import { elapsedOf, joined, waitForWorkersTool, waitOver } from './wait-for-workers.ts'

type Due = { do: 'join'; wait: Wait } | { do: 'detach'; wait: Wait } | { do: 'wait' }

export function workers(runner: RunnerDeps, claimed: Claimed): Capability<Due> {
  const place = (): SpawnContext =>
    createSpawnContext(runner, claimed, agentOf(runner.config, claimed.session))
  const isChild = claimed.link?.status === 'open'
  const over = (wait: Wait): Promise<Record<string, unknown>> =>
    wait.joins ? Promise.resolve(joined(wait)) : waitOver(place(), wait)
  return {
    name: 'workers',
    asks: () => ({
      first: findWait,
      // Outcomes reopen a root that has ended; a worker, and a session with a goal or a mission, waits for
      // them.
      at_end: position => (waitsForWorkers(position, isChild) ? { do: 'wait' } : null),
    }),
    async act(turn, due) {
      if (due.do === 'wait') return { next: 'wait' }
      await closeWait(turn, due.wait, due.do === 'join' ? await over(due.wait) : detached(due.wait))
      return { next: 'look' }
    },
    tools() {
      const spawning = place()
      return spawning.maySpawn
        ? [
            spawnWorkerTool(spawning),
            delegateTaskTool(spawning),
            waitForWorkersTool(spawning),
            listWorkersTool(spawning),
            readWorkerResultTool(spawning),
            sendWorkerMessageTool(spawning),
            stopWorkerTool(spawning),
            applyWorkerFilesTool(spawning),
          ]
        : []
    },
  }
}

const waitsForWorkers = ({ children, goal, mission }: Position, isChild: boolean): boolean =>
  children.open.length > 0 && (isChild || goal?.status === 'active' || mission?.status === 'active')

/** A call that has waited enough: its children have ended, or its user has written. */
function findWait({ children, conversation, spoken_id }: Position): Due | null {
  for (const wait of children.waits) {
    const call = conversation.open.find(each => each.tool_call_id === wait.tool_call_id)
    if (call?.state !== 'waiting') continue
    if (isOver(children, wait)) return { do: 'join', wait }
    if (spoken_id > wait.since) return { do: 'detach', wait }
  }
  return null
}

const detached = ({ ids }: Wait): Record<string, unknown> => ({
  status: 'running',
  workers: [...ids],
  note: 'The user sent a message. The workers continue; you receive their results when they end.',
})

/** The result of a waiting call, from the log alone, so that any runner writes the same. */
const closeWait = (turn: TurnContext, wait: Wait, content: Record<string, unknown>): Promise<void> =>
  closeCall(
    turn,
    wait.tool_call_id,
    content,
    elapsedOf(wait, turn.clock.now()),
    wait.joins ? { rows: [dropDelegationTimer(turn.log.session().id, wait.tool_call_id)] } : {},
  )
