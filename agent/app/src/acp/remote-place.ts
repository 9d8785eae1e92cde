/** A remote service: workspaces are on its machine, which the user is informed of once per session. */
import { createClient } from '@cairn/client'
import type { AgentEnvironment } from './agent.ts'

export function openRemotePlace(baseUrl: string, token: string): AgentEnvironment {
  const service = createClient({ baseUrl, token })
  return {
    service,
    async create() {
      const { id } = await service.call('createSession', {
        body: { channel: 'acp' },
        idempotencyKey: crypto.randomUUID(),
      })
      return {
        id,
        notice: `This session works in a workspace on ${baseUrl}, not in the folder of your editor.\n\n`,
      }
    },
    cwdOf: () => null,
  }
}
