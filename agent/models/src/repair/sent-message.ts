/** Messages and calls in the form in which they are sent: repaired, with the fields that must go back. */
import type { AssistantMessageData, ModelMessage } from '../provider.ts'

type Json = Record<string, unknown>

export type SentCall = NonNullable<AssistantMessageData['tool_calls']>[number] & {
  /** Fields of the call that its server sent and expects again, such as a thought signature. */
  fields?: Json
}
export type SentAssistant = Omit<AssistantMessageData, 'tool_calls'> & {
  tool_calls?: SentCall[]
  /** The same for the message: its reasoning. */
  fields?: Json
}
export type SentMessage = Exclude<ModelMessage, { role: 'assistant' }> | SentAssistant
