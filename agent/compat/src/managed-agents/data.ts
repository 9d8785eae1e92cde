/** What events of Claude Managed Agents say, apart from their ids and their place. */
import type { EventOf } from '@cairn/protocol'
import type { Change, ChangeKind, End } from '../changes/change.ts'
import { errorOf } from '../request/content.ts'

export type Data = { type: string } & Record<string, unknown>
type Of<K extends ChangeKind> = Extract<Change, { kind: K }>

export const textBlocks = (text: string) => [{ type: 'text', text }]

export const saidData = ({ content, images, attachments }: Of<'begun'>['message']): Data => ({
  type: 'user.message',
  content: [
    ...(content === '' ? [] : textBlocks(content)),
    ...images.map(({ data, mime_type }) => ({
      type: 'image',
      source: { type: 'base64', media_type: mime_type, data },
    })),
    ...attachments.map(({ filename, path }) => ({
      type: 'document',
      title: filename,
      source: { type: 'text', media_type: 'text/plain', data: `File of the workspace: ${path}` },
    })),
  ],
})

/** `response` is null for a call that failed. */
export function requestEndData(
  model_request_start_id: string,
  response: EventOf<'llm.response'> | null,
): Data {
  const { input_tokens = 0, output_tokens = 0, cache_read_tokens = 0 } = response?.data ?? {}
  return {
    type: 'span.model_request_end',
    model_request_start_id,
    is_error: response === null,
    model_usage: usageOf(input_tokens, output_tokens, cache_read_tokens),
  }
}

const usageOf = (input_tokens: number, output_tokens: number, cache_read_input_tokens: number) => ({
  input_tokens,
  output_tokens,
  cache_read_input_tokens,
  cache_creation_input_tokens: 0,
})

export function outcomeData({ data }: EventOf<'user.define_outcome'>): Data {
  const { outcome_id, description, rubric, max_iterations } = data
  return { type: 'user.define_outcome', outcome_id, description, rubric, max_iterations }
}

export function verdictData(
  { data }: EventOf<'span.outcome_evaluation_end'>,
  outcome_evaluation_start_id: string,
): Data {
  const { outcome_id, iteration, result, explanation, input_tokens = 0, output_tokens = 0 } = data
  return {
    type: 'span.outcome_evaluation_end',
    outcome_id,
    outcome_evaluation_start_id,
    // Theirs counts from 0 in both events; the log counts the ended evaluations.
    iteration: iteration - 1,
    result,
    explanation,
    usage: usageOf(input_tokens, output_tokens, 0),
  }
}

/** `mcp__<server>__<tool>`; a server name contains no "__". */
export function callData({ name, input }: Of<'call'>, evaluated_permission: 'allow' | 'ask' | 'deny'): Data {
  const [, mcp_server_name, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  const use =
    mcp_server_name === undefined
      ? { type: 'agent.tool_use', name }
      : { type: 'agent.mcp_tool_use', name: tool, mcp_server_name }
  return { ...use, input, evaluated_permission }
}

export function resultData({ name, content, failed }: Of<'result'>, use: string | undefined): Data {
  const result = name.startsWith('mcp__')
    ? { type: 'agent.mcp_tool_result', mcp_tool_use_id: use }
    : { type: 'agent.tool_result', tool_use_id: use }
  return { ...result, content: textBlocks(failed ? errorOf(content) : content), is_error: failed }
}

export const askedData = ({ question, action }: Of<'asked'>): Data => ({
  type: 'agent.custom_tool_use',
  name: question === null ? 'request_user_action' : 'ask_user_question',
  input: question ?? action,
})

export const answeredData = ({ output }: Of<'answered'>, custom_tool_use_id: string): Data => ({
  type: 'user.custom_tool_result',
  custom_tool_use_id,
  content: textBlocks(JSON.stringify(output)),
  is_error: 'cancelled' in output,
})

export const decidedData = ({ approved, reason }: Of<'decided'>, tool_use_id: string): Data => ({
  type: 'user.tool_confirmation',
  tool_use_id,
  result: approved ? 'allow' : 'deny',
  ...(reason === null ? {} : { deny_message: reason }),
})

/** A worker is a thread of its own, whose events are those of its session. */
export function childData({ worker, state, text }: Of<'child'>, agent_name: string): Data[] {
  const thread = { agent_name, session_thread_id: `sthr_${worker}` }
  if (state === 'running')
    return [
      { type: 'session.thread_created', ...thread, workflow_run_id: null },
      { type: 'session.thread_status_running', ...thread },
    ]
  const isComplete = state === 'complete'
  const stop_reason = { type: isComplete ? 'end_turn' : 'retries_exhausted' }
  const stop_details = isComplete ? null : { explanation: text }
  return [{ type: 'session.thread_status_idle', ...thread, stop_reason, stop_details }]
}

export function noteData(note: Of<'note'>): Data[] {
  switch (note.topic) {
    case 'compacted':
      return [{ type: 'agent.thread_context_compacted' }]
    case 'title':
      return [{ type: 'session.updated', title: note.title }]
    default:
      return []
  }
}

type Failure = Extract<End, { reason: 'failed' }>
const ERROR_TYPES: { [C in Failure['category']]?: string } = {
  rate_limit: 'model_rate_limited_error',
  provider_error: 'model_request_failed_error',
  timeout: 'model_request_failed_error',
}

/** What precedes the idle status at the end of a turn. */
export function endData(end: End): Data[] {
  if (end.reason === 'stopped') return [{ type: 'user.interrupt' }]
  if (end.reason !== 'failed') return []
  const type = ERROR_TYPES[end.category] ?? 'unknown_error'
  return [{ type: 'session.error', error: { type, message: end.error, retry_status: { type: 'exhausted' } } }]
}

export function idleData(end: End, waiting: readonly string[]): Data {
  return { type: 'session.status_idle', stop_reason: stopReason(end, waiting), stop_details: null }
}

function stopReason({ reason }: End, event_ids: readonly string[]): Data {
  if (reason === 'failed') return { type: 'retries_exhausted' }
  if (reason === 'budget_exhausted' || reason === 'tool_loop') return { type: 'budget_reached' }
  return event_ids.length > 0 ? { type: 'requires_action', event_ids } : { type: 'end_turn' }
}
