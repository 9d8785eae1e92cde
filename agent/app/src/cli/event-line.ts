/** One event as one line for a person. */
import type { EventOf, EventType, SessionEvent } from '@cairn/protocol'
import { oneLine } from './terminal-text.ts'

const BRIEF_MAX = 120

/** What matters in an event; types not listed show their data. */
const BRIEF: { [T in EventType]?: (data: EventOf<T>['data']) => string } = {
  'user.message': ({ content, synthetic }) =>
    synthetic === undefined ? content : `[${synthetic}] ${content}`,
  'llm.request': ({ model }) => model,
  'llm.delta': ({ content, reasoning }) => content ?? reasoning ?? '',
  'llm.thinking': ({ reasoning }) => reasoning,
  'llm.response': ({ message, finish_reason }) =>
    message.content ||
    `(${finish_reason}) ${(message.tool_calls ?? []).map(call => call.function.name).join(', ')}`,
  'iteration.summary': ({ summary }) => summary,
  'turn.summary': ({ recap }) => recap,
  'tool.call': ({ name, arguments: args }) => `${name} ${JSON.stringify(args)}`,
  'tool.result': ({ name, content, elapsed_ms }) => `${name} ${elapsed_ms} ms ${content}`,
  'todo.updated': ({ todos }) =>
    todos.map(({ status, content }) => `[${MARKS[status]}] ${content}`).join('  '),
  'policy.denied': ({ tool, reason }) => `${tool}: ${reason}`,
  'inbox.governance_gate': ({ tool_name, arguments_excerpt }) => `${tool_name} ${arguments_excerpt}`,
  'inbox.input_required': ({ questions }) => questions.map(({ prompt }) => prompt).join('  '),
  'artifact.created': ({ name, kind }) => `${kind} ${name}`,
  'session.fail': ({ error_category, error }) => `${error_category}: ${error}`,
  'session.complete': ({ reason }) => reason,
  'session.title_updated': ({ title }) => title,
}
const MARKS = { pending: ' ', in_progress: '~', completed: 'x', cancelled: '-' } as const

export function eventLine(event: SessionEvent): string {
  const brief = BRIEF[event.type] as ((data: SessionEvent['data']) => string) | undefined
  return `${String(event.id).padStart(5)}  ${event.created_at.slice(11, 23)}  ${event.type.padEnd(24)} ${oneLine(describe(event, brief), BRIEF_MAX)}`.trimEnd()
}

/** A log outlives its writers: an old event may lack what a line would show of it. */
function describe(
  { data }: SessionEvent,
  brief: ((data: SessionEvent['data']) => string) | undefined,
): string {
  const all = JSON.stringify(data)
  if (brief === undefined) return all === '{}' ? '' : all
  try {
    return brief(data)
  } catch (error) {
    if (error instanceof TypeError) return all
    throw error
  }
}
