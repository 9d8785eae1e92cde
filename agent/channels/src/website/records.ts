/**
 * What a visitor sees of an event: its id, type and time, and the listed keys of its data. Pure, and an
 * allowlist: a type without a row here never reaches a website.
 */
import { decodeEvent, type EventOf, type EventType, isBlank, type SessionEvent } from '@cairn/protocol'

export type VisitorRecord = { id: number; type: EventType; created_at: string; data: Record<string, unknown> }
type Row<T extends EventType> = (data: EventOf<T>['data']) => Record<string, unknown> | null

const ROWS: { [T in EventType]?: Row<T> } = {
  'disclosure.presented': ({ level, language }) => ({ level, language }),
  // Messages of the server to the model are not part of the conversation.
  'user.message': ({ content, attachments, synthetic }) =>
    synthetic === undefined
      ? { content, ...(attachments && { attachments: attachments.map(({ filename }) => ({ filename })) }) }
      : null,
  'llm.delta': ({ content, reset }) =>
    content === undefined && reset === undefined ? null : { content, ...(reset && { reset }) },
  'llm.response': ({ message }) =>
    isBlank(message.content) ? null : { message: { content: message.content } },
  'inbox.input_required': ({ tool_call_id, questions }) => ({
    tool_call_id,
    questions: questions.map(({ prompt, choices, allow_other }) => ({
      prompt,
      ...(choices && { choices: choices.map(({ label }) => ({ label })) }),
      ...(allow_other !== undefined && { allow_other }),
    })),
  }),
  // Others decide on it, and its content is private to them.
  'inbox.governance_gate': () => ({}),
  'inbox.action_required': () => ({}),
  'ask_user_question.response': ({ tool_call_id, responses }) => ({
    tool_call_id,
    responses: responses.map(({ question, answer }) => ({ question, answer })),
  }),
  'artifact.created': ({ artifact_id, name, kind, size }) => ({ artifact_id, name, kind, size }),
  'code.run_channel_update': ({ text }) => ({ text }),
  'loop.result': ({ content }) => ({ content }),
  'session.stopped': () => ({}),
  'session.fail': ({ error_category }) => ({ error_category }),
}
export const VISITOR_TYPES = Object.keys(ROWS) as EventType[]

/** Null if visitors may not see the event. */
export function visitorRecord(json: string): VisitorRecord | null {
  const event: SessionEvent = decodeEvent(json)
  const row = ROWS[event.type] as Row<EventType> | undefined
  const data = row?.(event.data as never)
  return data === undefined || data === null
    ? null
    : { id: event.id, type: event.type, created_at: event.created_at, data }
}
