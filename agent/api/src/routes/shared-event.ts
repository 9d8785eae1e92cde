/**
 * The allowlist of a share link: event types and the keys that it shows of each. Other types are hidden, so a
 * new type is never exposed by accident.
 */
import type { EventData, EventType, SessionEvent } from '@cairn/protocol'
import { startsWithHistory } from '@cairn/state'

type Shown = { id: number; type: string; created_at: string; data: Record<string, unknown> }
type Rows = { [T in EventType]?: (data: EventData<T>) => Record<string, unknown> | null }

/** Totals are private to the owner, and the page computes none. */
const NO_SUMS = {
  input_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  cache_read_tokens: 0,
  context_window: 0,
}

const ROWS: Rows = {
  'user.message': ({ content, synthetic, history }) =>
    synthetic === undefined
      ? { content }
      : startsWithHistory(synthetic)
        ? { content, synthetic, history }
        : null,
  'llm.response': ({ message, model, finish_reason }) => ({
    message: {
      role: message.role,
      content: message.content,
      ...(message.tool_calls !== undefined && { tool_calls: message.tool_calls }),
    },
    model,
    finish_reason,
    ...NO_SUMS,
  }),
  'tool.call': ({ tool_call_id, name, arguments: args }) => ({ tool_call_id, name, arguments: args }),
  'tool.result': ({ tool_call_id, name, content, elapsed_ms }) => ({
    tool_call_id,
    name,
    content,
    elapsed_ms,
  }),
  'inbox.input_required': ({ tool_call_id, questions, context }) => ({ tool_call_id, questions, context }),
  'ask_user_question.response': ({ tool_call_id, responses }) => ({ tool_call_id, responses }),
  'session.title_updated': ({ title }) => ({ title }),
  'session.stopped': () => ({}),
  'session.complete': ({ reason }) => ({ reason }),
}

export function sharedEvent(event: SessionEvent): Shown | null {
  const row = ROWS[event.type] as ((data: SessionEvent['data']) => Record<string, unknown> | null) | undefined
  const data = row?.(event.data) ?? null
  return data === null ? null : { id: event.id, type: event.type, created_at: event.created_at, data }
}
