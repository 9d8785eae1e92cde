/** The service with a session of MCP for attacks, and everybody who must not reach it. */
import type { Service } from '@cairn/api/test/service'
import { expect } from 'vitest'
import { addGate, startCompat } from '../stage.ts'
import { modern, send } from './mcp-requests.ts'

/** A session of the administrator with an open approval, and everybody else. */
export async function startAttacked(config: Parameters<typeof startCompat>[0] = {}) {
  const service = await startCompat(config)
  const { adminToken } = service
  const startReply = await send(
    service,
    adminToken,
    modern('tools/call', { name: 'start_session', arguments: { message: 'hello' } }),
  )
  const { taskId } = startReply.json.result as { taskId: string }
  const session = taskId.split('_')[1] ?? ''
  const gate = await addGate(service, session)
  const colleague = (await service.addUser()).token
  const stranger = (
    await service.addUser('x@other.example', { admin: true, org_id: service.addOrganisation() })
  ).token
  const robot = (await service.addServiceAccount({ scope: 'own' })).token
  const [item] = (await service.store.inbox.list({ org_id: service.admin.org_id, limit: 1 })).items
  return { service, taskId, session, gate, item: item?.id ?? '', others: { colleague, stranger, robot } }
}

/** The approval was not decided. */
export const stays = async ({ store, admin }: Service): Promise<void> => {
  const [item] = (await store.inbox.list({ org_id: admin.org_id, limit: 1 })).items
  expect(item?.status).toBe('pending')
}
