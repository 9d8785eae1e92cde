/**
 * The board of a tree as a row of the capabilities: its tools, and updates by other sessions, added before
 * the next model call. The text is stored, so that every fold of the log sees what was read at that time.
 */
import type { EventWithRows } from '@cairn/log'
import { boardUpdate, composeUpdate } from '@cairn/sessions'
import { createSpawnContext } from '../coordination/spawn-context.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { readBoardTool, shareNoteTool } from './share-note.ts'

export function board(runner: RunnerDeps, claimed: Claimed): Capability {
  const { link, session } = claimed
  return {
    name: 'board',
    tools({ agent }) {
      const place = createSpawnContext(runner, claimed, agent)
      const shares = agent.board && (place.isChild || place.maySpawn)
      return shares ? [shareNoteTool(place), readBoardTool(place)] : []
    },
    async beforeRequest(turn, before) {
      const isAlone = link === null && !turn.log.position().board.shared
      if (!isAlone && turn.setup.agent.board) await notifyNews(turn, link?.root_id ?? session.id, before)
    },
  }
}

async function notifyNews(
  { log, store, clock }: TurnContext,
  root: string,
  before: readonly EventWithRows[],
): Promise<void> {
  const { board: cursor } = log.position()
  const update = composeUpdate(root, await store.board.read(root), log.session().id, cursor, clock.now())
  if (update !== null) await log.append([...before, boardUpdate({ group_id: root, ...update })])
}
