/**
 * Workers as a row of the capabilities: the tools that create, list and control them, and the effect of their
 * outcomes on the turn. A waiting parent waits in the fold of its log: its lease is released, and an outcome
 * wakes it.
 */
import { CommitRefused, type Link } from '@cairn/log'
import { BLOCK_TOOL, type Block, isApproval, isOver, type Wait } from '@cairn/state'
import { COMPLETE_TOOL, dropDelegationTimer } from '@cairn/sessions'
import { agentOf } from '../../governance/agent.ts'
import { alwaysAllow } from '../../governance/always-allow.ts'
import { toolResult } from '../../tools/events.ts'
import type { Linked, Tool } from '../../tools/tool.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { FinishReason } from '../../turn/next-step.ts'
import type { Position } from '../../turn/position.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { applyWorkerFilesTool } from './apply-worker-files.ts'
import { askAboutBlocks } from './ask-about-blocks.ts'
import { delegateTaskTool } from './delegate-task.ts'
import { elapsedOf, joined } from './join.ts'
import { listWorkersTool, readWorkerResultTool } from './read-workers.ts'
import { type SpawnContext, createSpawnContext } from './spawn-context.ts'
import { spawnTaskTool } from './spawn-task.ts'
import { spawnWorkerTool } from './spawn-worker.ts'
import { cancelTaskTool, listTasksTool, unblockTaskTool } from './task-commands.ts'
import { sendWorkerMessageTool, stopWorkerTool } from './worker-commands.ts'
import { waitForWorkersTool, waitOver } from './wait-for-workers.ts'
import { answered, findAnswer, unblockedByMessage, workerBlockTool } from './worker-block.ts'
import { hasCompleted, workerCompleteTool } from './worker-complete.ts'

type Due =
  | { do: 'join'; wait: Wait }
  | { do: 'detach'; wait: Wait }
  | { do: 'unblock'; block: Block; by: 'answer' | 'message' }
  | { do: 'wait' }

export function workers(runner: RunnerDeps, claimed: Claimed): Capability<Due> {
  const place = (): SpawnContext =>
    createSpawnContext(runner, claimed, agentOf(runner.config, claimed.session))
  const isChild = claimed.link?.status === 'open'
  const over = (wait: Wait): Promise<Record<string, unknown>> =>
    wait.joins ? Promise.resolve(joined(wait)) : waitOver(place(), wait)
  return {
    name: 'workers',
    asks: () => ({
      first: position => findWait(position) ?? findUnblock(position),
      isOver: position => (isChild && hasCompleted(position) ? 'completed' : null),
      // Outcomes reopen a root that has ended; a worker, and a session with a goal or a mission, waits for
      // them.
      at_end: (position, reason) =>
        waitsForWorkers(position, isChild) || (isChild && waitsForApproval(position, reason))
          ? { do: 'wait' }
          : null,
    }),
    async act(turn, due) {
      if (due.do === 'wait') return { next: 'wait' }
      if (due.do === 'unblock') {
        await closeBlock(turn, due, claimed.link)
        return { next: 'look' }
      }
      await closeWait(turn, due.wait, due.do === 'join' ? await over(due.wait) : detached(due.wait))
      return { next: 'look' }
    },
    onEnd: askAboutBlocks,
    onRest: askAboutBlocks,
    setUp: setup => Promise.resolve(isChild ? { ...setup, agent: alwaysAllow(setup.agent, ALWAYS) } : setup),
    tools: () => toolsOf(place()),
  }
}

const waitsForWorkers = ({ children, goal, mission }: Position, isChild: boolean): boolean =>
  children.open.length > 0 && (isChild || goal?.status === 'active' || mission?.status === 'active')

/**
 * A worker must not act on an approval after its outcome. So it waits for the decision, unless it has
 * reported completion itself or may call no model any more.
 */
const waitsForApproval = (position: Position, reason: FinishReason): boolean =>
  reason === 'completed' && position.waiting.some(isApproval) && !hasCompleted(position)

function findUnblock(position: Position): Due | null {
  const found = findAnswer(position)
  return found === null ? null : { do: 'unblock', ...found }
}

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

async function closeCall(
  turn: TurnContext,
  tool_call_id: string,
  content: Record<string, unknown>,
  elapsed_ms: number,
  linked: Linked,
): Promise<void> {
  const { answer, turn: at, conversation } = turn.log.position()
  const call = conversation.open.find(each => each.tool_call_id === tool_call_id)
  await turn.log.append(
    [
      toolResult({
        tool_call_id,
        name: call?.name ?? '',
        content: JSON.stringify(content),
        elapsed_ms,
        turn_id: answer?.turn_id ?? at.turn_id ?? turn.newId(),
        iteration_index: answer?.iteration_index ?? 0,
      }),
    ],
    linked,
  )
}

/** A person who writes to the worker itself has answered: the task is updated with the result. */
async function closeBlock(
  turn: TurnContext,
  { block, by }: Extract<Due, { do: 'unblock' }>,
  link: Link | null,
): Promise<void> {
  const until = block.answer === null ? turn.clock.now() : Date.parse(block.answer.at)
  const elapsed_ms = Math.max(1, until - Date.parse(block.at))
  const linked = by === 'message' ? unblockedByMessage(link, block.tool_call_id) : {}
  try {
    await closeCall(turn, block.tool_call_id, answered(block), elapsed_ms, linked)
  } catch (error) {
    // Another answer was committed first; the next iteration finds it.
    if (!(error instanceof CommitRefused) || error.refusal !== 'task_moved') throw error
  }
}

/** Tools that no allow-list removes from a worker: those that end its work or report a block. */
const ALWAYS = [COMPLETE_TOOL, BLOCK_TOOL, 'share_note', 'read_board']

const toolsOf = (place: SpawnContext): Tool[] => [
  ...(place.maySpawn
    ? [
        spawnWorkerTool(place),
        delegateTaskTool(place),
        waitForWorkersTool(place),
        listWorkersTool(place),
        readWorkerResultTool(place),
        sendWorkerMessageTool(place),
        stopWorkerTool(place),
        applyWorkerFilesTool(place),
        spawnTaskTool(place),
        listTasksTool(place),
        unblockTaskTool(place),
        cancelTaskTool(place),
      ]
    : []),
  ...(place.isChild ? [workerCompleteTool(place)] : []),
  ...(place.isChild && place.link?.kind === 'task' ? [workerBlockTool(place)] : []),
]
