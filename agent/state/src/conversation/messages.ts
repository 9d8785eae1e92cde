/** The state of the model's conversation: its messages, and what waits to join them. */
import type { AssistantMessage, EventId, Image, ResultPicture } from '@cairn/protocol'
import type { OpenCall } from './open-calls.ts'

export type AssistantMessageData = AssistantMessage
export type ConversationMessage =
  | { role: 'user'; content: string; images?: readonly Image[] }
  | AssistantMessageData
  | { role: 'tool'; tool_call_id: string; content: string }

/** One message and its source event, in the order in which the model reads them. */
export type ConversationEntry = {
  event_id: EventId
  message: ConversationMessage
  /** Pictures of a tool's result. They are files, so the message has only their paths. */
  pictures?: readonly ResultPicture[]
  /** The next turn reads it, but it does not start one. */
  quiet?: true
}

export type Conversation = {
  readonly entries: readonly ConversationEntry[]
  readonly open: readonly OpenCall[]
  /** A model call is under way and has not seen what arrives during it. */
  readonly answering: boolean
  /**
   * Arrived while the model answered or calls were open; joins the conversation after the answer and the last
   * result.
   */
  readonly deferred: readonly ConversationEntry[]
}
