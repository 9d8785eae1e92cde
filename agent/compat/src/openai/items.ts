/** Items of OpenAI's Responses API: what people send, and what the agent makes. */
import type { EventId } from '@cairn/protocol'
import type { Change, Said } from '../changes/change.ts'
import { errorOf } from '../request/content.ts'

export type Item = { id: string; type: string } & Record<string, unknown>
type Status = 'in_progress' | 'completed' | 'incomplete'

const SERVER = 'cairn'

export const textItem = (part: EventId, text: string | null, status: Status): Item => ({
  id: `msg_${part}`,
  type: 'message',
  role: 'assistant',
  status,
  content: text === null ? [] : [outputText(text)],
})

export const outputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

export const reasoningItem = (part: EventId, text: string | null, status: Status): Item => ({
  id: `rs_${part}`,
  type: 'reasoning',
  summary: [],
  status,
  content: text === null ? [] : [{ type: 'reasoning_text', text }],
})

type Call = { name: string; input: Record<string, unknown> }

export const callItem = (
  event: EventId,
  { name, input }: Call,
  more: { status: string; approval_request_id?: string; output?: string; error?: string },
): Item => {
  const { status, approval_request_id = null, output = null, error } = more
  return {
    id: `mcp_${event}`,
    type: 'mcp_call',
    server_label: SERVER,
    name,
    arguments: JSON.stringify(input),
    approval_request_id,
    output,
    error:
      error === undefined
        ? null
        : { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: error }] },
    status,
  }
}

/** What ends the item of a call. */
export const outcomeOf = ({ content, failed }: Extract<Change, { kind: 'result' }>) =>
  failed ? { status: 'failed', error: errorOf(content) } : { status: 'completed', output: content }

export const approvalItem = ({ gate, name, input }: Extract<Change, { kind: 'gate' }>): Item => ({
  id: `apr_${gate}`,
  type: 'mcp_approval_request',
  server_label: SERVER,
  name,
  arguments: JSON.stringify(input),
})

export const askItem = ({ ask, question, action }: Extract<Change, { kind: 'asked' }>): Item => ({
  id: `fc_${ask}`,
  type: 'function_call',
  call_id: `call_${ask}`,
  name: question === null ? 'request_user_action' : 'ask_user_question',
  arguments: JSON.stringify(question ?? action),
  status: 'completed',
})

export const saidItem = ({ id, content, images }: Said): Item => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'user',
  status: 'completed',
  content: [
    { type: 'input_text', text: content },
    ...images.map(({ data, mime_type }) => ({
      type: 'input_image',
      detail: 'auto',
      file_id: null,
      image_url: `data:${mime_type};base64,${data}`,
    })),
  ],
})

export const decisionItem = (
  event: EventId,
  { gate, approved }: Extract<Change, { kind: 'decided' }>,
): Item => ({
  id: `aprr_${event}`,
  type: 'mcp_approval_response',
  approval_request_id: `apr_${gate}`,
  approve: approved,
  reason: null,
})

export const answerItem = (event: EventId, { ask, output }: Extract<Change, { kind: 'answered' }>): Item => ({
  id: `fco_${event}`,
  type: 'function_call_output',
  call_id: `call_${ask}`,
  output: JSON.stringify(output),
  status: 'completed',
})
