/** Workers of a session, without a harness. */
import { randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { syntheticMessage } from '@cairn/sessions'
import type { Service } from './service.ts'

const coordination = writer('coordination')

/** A child of that session, as the harness creates one. */
export async function spawn(service: Service, parent_id: string, goal: string): Promise<string> {
  const child_id = randomUUID()
  const parent = await service.store.sessions.get(parent_id)
  const link = await service.store.links.get(parent_id)
  if (parent === null) throw new Error(`there is no session ${parent_id}`)
  const { org_id, created_by, created_by_kind, agent } = parent
  const depth = (link?.depth ?? 0) + 1
  service.advance(10)
  await service.store.commit({
    session_id: parent_id,
    events: [coordination('worker.spawned', { worker_id: child_id, goal, kind: 'worker', agent, depth })],
    rows: [
      {
        do: 'link.open',
        link: {
          child_id,
          parent_id,
          root_id: link?.root_id ?? parent_id,
          depth,
          kind: 'worker',
          tool_call_id: null,
          task_id: null,
          attempt: null,
        },
        max_open: 8,
        max_total: 50,
      },
    ],
    also: [
      {
        session_id: child_id,
        create: { org_id, created_by, created_by_kind, agent, channel: 'worker', title: goal, parent_id },
        events: [syntheticMessage('worker_goal', goal)],
      },
    ],
  })
  return child_id
}
