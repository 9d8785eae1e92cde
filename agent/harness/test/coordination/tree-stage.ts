/** A family on the stage: the logs of a session and of all its descendants, and what scenarios of families say. */
import type { LogStore } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import { derivedId } from '@cairn/sessions'
import type { Harness } from '../../src/runner/runner.ts'
import type { ScenarioInput } from '@cairn/scripted-model'
import { readLog, setStage, type Stage, type StageOptions } from '../turn/stage.ts'

/** By session, the root first. */
export async function treeLogs(store: LogStore, root: string): Promise<Map<string, SessionEvent[]>> {
  const logs = new Map<string, SessionEvent[]>()
  const visit = async (id: string): Promise<void> => {
    logs.set(id, await readLog(store, id))
    for (const { child_id } of await store.links.children(id)) await visit(child_id)
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

/** A session of this id knows the ids of its tasks before it makes them: they follow from those of the calls. */
export const ROOT = 'the-root'
const callId = (name: string): string => `call-${name}`
export const taskId = (name: string): string => derivedId(ROOT, callId(name), 'task')
/** `name` names the call; `after` are names of others. */
export const task = (
  name: string,
  goal: string,
  { after, ...more }: { after?: readonly string[]; max_attempts?: number; agent?: string } = {},
) => ({
  name: 'spawn_task',
  id: callId(name),
  arguments: { goal, ...more, ...(after === undefined ? {} : { after: after.map(taskId) }) },
})
export const block = (reason: string) => ({ tool_calls: [{ name: 'worker_block', arguments: { reason } }] })
/** The last thing said is that a task is blocked; its id is `{{user.1}}`. */
export const BLOCKED = { user: '^\\[Task (\\S+) is blocked' }

/** A session `ROOT` whose models answer so, and that was told to go. */
export async function setTree(
  rules: ScenarioInput['rules'],
  options: Omit<StageOptions, 'scenario' | 'session_id'> = {},
): Promise<Stage & { harness: Harness }> {
  const stage = await setStage({ ...options, session_id: ROOT, scenario: { rules } })
  const harness = stage.start()
  await stage.send('go')
  return Object.assign(stage, { harness })
}
