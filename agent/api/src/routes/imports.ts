/** Imports of conversations that another program recorded. */
import { importPart as add } from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { agentNames } from './sessions.ts'
import { shownSession } from './session-view.ts'

export const importPart: Handler<'importPart'> = async ({ services, principal, body }) => {
  const agents = await agentNames(services, principal)
  const { session, ...rest } = await add(services, { ...body, agents, principal })
  return { session: session === null ? null : await shownSession(services, session), ...rest }
}
