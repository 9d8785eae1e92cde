/** A family on the stage: the logs of a session and of all its descendants, and what scenarios of families say. */
import type { LogStore } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import { readLog } from '../turn/stage.ts'

/** By session, the root first. */
export async function familyLogs(store: LogStore, root: string): Promise<Map<string, SessionEvent[]>> {
  const logs = new Map<string, SessionEvent[]>()
  const visit = async (id: string): Promise<void> => {
    logs.set(id, await readLog(store, id))
    for (const { child_id } of await store.coordination.children(id)) await visit(child_id)
  }
  await visit(root)
  return logs
}

/** The worker with that goal is asked. */
export const goal = (text: string) => ({ user: `Goal:\\s+${text}` })
/** The last thing said is the outcome of a worker. */
export const OUTCOME = { user: '^\\[Worker ' }
export const spawn = (goal: string, more: Record<string, unknown> = {}) => ({
  name: 'spawn_worker',
  arguments: { goal, ...more },
})
export const wait = { name: 'wait_for_workers', arguments: {} }
export const finishWork = (summary: string) => ({
  tool_calls: [{ name: 'worker_complete', arguments: { summary } }],
})
