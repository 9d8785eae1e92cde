/**
 * A session that is a worker as a row of the capabilities: it reports its result or a block to the agent that
 * it works for. A blocked call waits in the fold of the log, as a parent that waits for workers does.
 */
import { CommitRefused, type Link } from '@cairn/log'
import { BLOCK_TOOL, type Block, isApproval } from '@cairn/state'
import { COMPLETE_TOOL } from '@cairn/sessions'
import { agentOf } from '../../governance/agent.ts'
import { alwaysAllow } from '../../governance/always-allow.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { FinishReason } from '../../turn/asks.ts'
import type { Position } from '../../turn/position.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { closeCall } from '../coordination/close-call.ts'
import { createSpawnContext } from '../coordination/spawn-context.ts'
import { answered, findAnswer, unblockedByMessage, workerBlockTool } from './worker-block.ts'
import { hasCompleted, workerCompleteTool } from './worker-complete.ts'

type Due = { do: 'unblock'; block: Block; by: 'answer' | 'message' } | { do: 'wait' }

/** Tools that no allow-list removes from a worker: those that end its work or report a block. */
const ALWAYS = [COMPLETE_TOOL, BLOCK_TOOL, 'share_note', 'read_board']

export function worker(runner: RunnerDeps, claimed: Claimed): Capability<Due> {
  const isChild = claimed.link?.status === 'open'
  return {
    name: 'worker',
    asks: () => ({
      first: findUnblock,
      isOver: position => (isChild && hasCompleted(position) ? 'completed' : null),
      at_end: (position, reason) => (isChild && waitsForApproval(position, reason) ? { do: 'wait' } : null),
    }),
    async act(turn, due) {
      if (due.do === 'wait') return { next: 'wait' }
      await closeBlock(turn, due, claimed.link)
      return { next: 'look' }
    },
    setUp: setup => Promise.resolve(isChild ? { ...setup, agent: alwaysAllow(setup.agent, ALWAYS) } : setup),
    tools() {
      const place = createSpawnContext(runner, claimed, agentOf(runner.config, claimed.session))
      if (!place.isChild) return []
      return [workerCompleteTool(place), ...(place.link?.kind === 'task' ? [workerBlockTool(place)] : [])]
    },
  }
}

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
