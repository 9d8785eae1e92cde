/** A blocked task, in the state in which the harness leaves it. */
import { randomUUID } from 'node:crypto'
import type { Service } from './service.ts'

/** The worker is a session without a turn. */
export async function addBlockedTask(
  service: Service,
  owner: string,
): Promise<{ task_id: string; worker_id: string }> {
  const [task_id, worker_id] = [randomUUID(), randomUUID()]
  const session = await service.store.sessions.get(owner)
  if (session === null) throw new Error('the owner is gone')
  const { org_id, created_by, created_by_kind, agent } = session
  const plan = {
    goal: 'hold on',
    agent,
    role: 'leaf',
    max_iterations: 5,
    depth: 1,
    max_open: 8,
    max_total: 50,
    tool_call_id: 'call',
  }
  await service.store.commit({
    session_id: owner,
    events: [],
    rows: [
      {
        do: 'task.add',
        task: {
          task_id,
          owner_id: owner,
          root_id: owner,
          goal: 'hold on',
          plan,
          after: [],
          max_attempts: 3,
          status: 'running',
          attempt_count: 1,
          state: { worker_id, block_call_id: 'blocks', blocked_reason: 'Which way?' },
        },
      },
      { do: 'task.move', task_id, root_id: owner, from: ['running'], to: 'blocked' },
      {
        do: 'link.open',
        link: {
          child_id: worker_id,
          parent_id: owner,
          root_id: owner,
          depth: 1,
          kind: 'task',
          tool_call_id: 'call',
          task_id,
          attempt: 1,
        },
        max_open: 8,
        max_total: 50,
      },
    ],
    also: [
      {
        session_id: worker_id,
        create: { org_id, created_by, created_by_kind, agent, channel: 'worker', parent_id: owner },
        events: [],
      },
    ],
  })
  return { task_id, worker_id }
}
