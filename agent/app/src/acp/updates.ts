/**
 * A session's log for an ACP client: each event becomes zero or more updates. The same function serves a live
 * prompt and the replay of `session/load`, so both show the same transcript.
 *
 * Deltas are best effort and the response is authoritative: it completes the text that was shown. If the two
 * differ (the model was called again), the whole answer is sent as a new message.
 */
import type { SessionUpdate, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { type EventData, type SessionEvent, toolError } from '@cairn/protocol'
import { join } from 'node:path'

export type Updates = {
  take(event: SessionEvent): SessionUpdate[]
}

const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'read',
  search_files: 'search',
  write_file: 'edit',
  edit_file: 'edit',
  terminal: 'execute',
  web_fetch: 'fetch',
  todo: 'think',
}
export const kindOf = (tool: string): ToolKind => KINDS[tool] ?? 'other'

const PLAN_STATUS = {
  pending: 'pending',
  in_progress: 'in_progress',
  completed: 'completed',
  cancelled: 'completed',
} as const

/** Arguments that summarize a call, by priority. */
const TELLING = ['command', 'path', 'url', 'query', 'pattern', 'prompt', 'title'] as const
const TITLE_CHARS = 120

export function titleOf(name: string, args: Record<string, unknown>): string {
  const telling = TELLING.map(key => args[key]).find(value => typeof value === 'string')
  if (typeof telling !== 'string') return name
  const line = `${name}: ${telling.replaceAll(/\s+/g, ' ')}`
  return line.length <= TITLE_CHARS ? line : `${line.slice(0, TITLE_CHARS - 1)}…`
}

/** Absolute paths, as ACP requires; empty if the client cannot access the workspace. */
function locationsOf(cwd: string | null, args: Record<string, unknown>): ToolCallLocation[] {
  const { path } = args
  return cwd === null || typeof path !== 'string'
    ? []
    : [{ path: path.startsWith('/') ? path : join(cwd, path.replace(/^__WORKSPACE__\/?/, '')) }]
}

const text = (said: string) => ({ type: 'text', text: said }) as const

/** `cwd`: the workspace, if it is a folder on the client's machine. */
export function createUpdates({ cwd }: { cwd: string | null }): Updates {
  /** The shown part of the running answer, and how often the model was called for it. */
  let shown = ''
  let thought = ''
  let asked = 0
  let cost = 0

  const messageId = (at: { turn_id?: string | undefined; iteration_index?: number | undefined }): string =>
    `${at.turn_id ?? 'turn'}:${at.iteration_index ?? 0}:${asked}`

  function delta(data: EventData<'llm.delta'>): SessionUpdate[] {
    if (data.reset === true) {
      shown = ''
      thought = ''
      asked += 1
    }
    const id = messageId(data)
    thought += data.reasoning ?? ''
    shown += data.content ?? ''
    return [
      ...chunk('agent_thought_chunk', data.reasoning, `${id}:thought`),
      ...chunk('agent_message_chunk', data.content, id),
    ]
  }

  function response(event: Extract<SessionEvent, { type: 'llm.response' }>): SessionUpdate[] {
    const { data } = event
    const { content } = data.message
    if (data.finish_reason === 'command')
      return chunk('agent_message_chunk', content, `command:${String(event.id)}`)
    cost += data.cost_usd ?? 0
    const isContinued = content.startsWith(shown)
    if (!isContinued) asked += 1
    const said = chunk(
      'agent_message_chunk',
      isContinued ? content.slice(shown.length) : content,
      messageId(data),
    )
    shown = ''
    thought = ''
    asked = 0
    const used = data.input_tokens + data.output_tokens
    return [
      ...said,
      {
        sessionUpdate: 'usage_update',
        used,
        size: data.context_window,
        ...(cost > 0 ? { cost: { amount: cost, currency: 'USD' } } : {}),
      },
    ]
  }

  return {
    take(event) {
      switch (event.type) {
        case 'user.message':
          return event.data.synthetic === undefined
            ? chunk('user_message_chunk', event.data.content, `user:${String(event.id)}`)
            : []
        case 'llm.delta':
          return delta(event.data)
        case 'llm.thinking':
          return thought === ''
            ? chunk('agent_thought_chunk', event.data.reasoning, `${messageId(event.data)}:thought`)
            : []
        case 'llm.response':
          return response(event)
        default:
          return told(event, cwd)
      }
    },
  }
}

/** Updates of an event that do not depend on earlier ones. */
function told(event: SessionEvent, cwd: string | null): SessionUpdate[] {
  switch (event.type) {
    case 'tool.call': {
      const { tool_call_id, name, arguments: args } = event.data
      return [
        {
          sessionUpdate: 'tool_call',
          toolCallId: tool_call_id,
          title: titleOf(name, args),
          name,
          kind: kindOf(name),
          status: 'in_progress',
          locations: locationsOf(cwd, args),
          rawInput: args,
        },
      ]
    }
    case 'tool.result': {
      const { tool_call_id, content } = event.data
      return [
        {
          sessionUpdate: 'tool_call_update',
          toolCallId: tool_call_id,
          status: toolError(content) === null ? 'completed' : 'failed',
          content: [{ type: 'content', content: text(content) }],
        },
      ]
    }
    case 'todo.updated':
      return [
        {
          sessionUpdate: 'plan',
          entries: event.data.todos.map(({ content, status }) => ({
            content,
            priority: 'medium',
            status: PLAN_STATUS[status],
          })),
        },
      ]
    case 'session.title_updated':
      return [
        {
          sessionUpdate: 'session_info_update',
          title: event.data.title,
          updatedAt: event.created_at,
        },
      ]
    default:
      return []
  }
}

type Chunk = 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk'
const chunk = (sessionUpdate: Chunk, said: string | undefined, messageId: string): SessionUpdate[] =>
  said === undefined || said === '' ? [] : [{ sessionUpdate, content: text(said), messageId }]
