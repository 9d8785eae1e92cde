/** stop_worker and cancel_task, while the coding run of the worker ends by itself. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommitRefused } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { beginAttempt, codeRunResult, codeRunStarted, createSession, type TaskPlan } from '@cairn/sessions'
import { expect, test } from 'vitest'
import type { SpawnContext } from '../../src/capabilities/coordination/spawn-context.ts'
import { cancelTaskTool } from '../../src/capabilities/tasks/task-commands.ts'
import { stopWorkerTool } from '../../src/capabilities/coordination/worker-commands.ts'
import type { Tool, ToolContext } from '../../src/tools/tool.ts'
import { alice } from '../turn/stage.ts'

const plan: TaskPlan = {
  goal: 'dig',
  agent: 'assistant',
  role: 'leaf',
  max_iterations: 5,
  depth: 1,
  tool_call_id: 'call',
  max_open: 8,
  max_total: 50,
}

/** Promise 14.12: A stop of a worker whose coding run ends meanwhile is repeated, and writes one result. */
test.each([
  ['stop_worker', stopWorkerTool, (worker_id: string) => ({ worker_id, reason: 'enough' })],
  ['cancel_task', cancelTaskTool, () => ({ task_id: 'task', reason: 'enough' })],
] as const)('%s ends a worker whose coding run has ended meanwhile', async (_, toolOf, args) => {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-stop-worker-'))
  const store = await openStoreInProcess({ dir })
  try {
    const deps = { store, now: Date.now, newId: () => 'root' }
    const session = await createSession(deps, ['assistant'], { principal: alice })
    const { event, row, part } = beginAttempt(
      session,
      session.id,
      { task_id: 'task', plan, state: {} },
      1,
      [],
    )
    const worker_id = part.session_id
    const task = { task_id: 'task', owner_id: session.id, root_id: session.id, goal: 'dig', plan, after: [] }
    await store.commit({
      session_id: session.id,
      events: [event],
      rows: [
        {
          do: 'task.add',
          task: { ...task, max_attempts: 1, status: 'running', attempt_count: 1, state: { worker_id } },
        },
        row,
      ],
      also: [part],
    })
    const run = { run_id: 'run', agent: 'agent' }
    await store.commit({
      session_id: worker_id,
      events: [codeRunStarted(worker_id, { ...run, provider: 'p', prompt: 'do it', source_event_id: 1 })],
    })

    const runner = { store, clock: { now: Date.now }, newId: () => 'id' }
    const tool: Tool = toolOf({ runner, session } as unknown as SpawnContext)
    const outcome = await tool.run(args(worker_id), {} as ToolContext)
    // Without usage, which would change the tree.
    const usage = { input_tokens: 0, output_tokens: 0 }
    await store.commit({
      session_id: worker_id,
      events: [codeRunResult({ ...run, ...usage, final_message: 'done', error: null })],
    })
    const commit = ({ events = [], linked = {} }: typeof outcome) =>
      store.commit({ session_id: session.id, events, ...linked })
    const refusal: unknown = await commit(outcome).catch((error: unknown) => error)
    if (!(refusal instanceof CommitRefused)) throw new Error('the commit was not refused')
    expect(refusal.refusal).toBe('code_run_ended')

    const again = await outcome.refused?.(refusal)
    if (again === null || again === undefined) throw new Error('the tool does not repeat the stop')
    await commit(again)
    expect(await store.sessions.get(worker_id)).toMatchObject({ status: 'completed' })
    expect(await store.events.read(worker_id, 0, 100, ['code.run_result'])).toHaveLength(1)
  } finally {
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  }
})
