/**
 * Composes a request so that the server at hand accepts it. The log is never rewritten, so what is odd in it
 * stays there forever; every request repairs it again, here and nowhere else. Pure: the same log and profile
 * give the same request, which keeps the caches of model servers valid.
 */
import type { ModelRequest } from '../provider.ts'
import type { ServerProfile } from '../servers/profiles.ts'
import { acceptableTools } from './acceptable-tools.ts'
import { orderRoles } from './roles.ts'
import { pairCalls } from './pair-calls.ts'
import { returnedFields } from './reasoning.ts'
import type { SentMessage } from './sent-message.ts'
import { repairTexts } from './texts.ts'

export type SentRequest = Omit<ModelRequest, 'messages'> & { messages: readonly SentMessage[] }

export function repairRequest(request: ModelRequest, profile: ServerProfile): SentRequest {
  const tools = acceptableTools(request.tools, profile).tools
  const fields = returnedFields(request.messages, request.model, profile)
  const offered = tools.map(({ name }) => name)
  const paired = pairCalls(request.messages, offered, profile, fields)
  return { ...request, tools, messages: orderRoles(repairTexts(paired, profile), profile) }
}
