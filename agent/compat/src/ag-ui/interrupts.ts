/** What a run waits for a person for: approvals, questions and actions. */
import type { Change } from '../changes/change.ts'

type Of<K extends Change['kind']> = Extract<Change, { kind: K }>
/** `responseSchema` is that of the payload of a resume entry. */
export type Interrupt = {
  id: string
  reason: 'tool_call' | 'input_required' | 'action_required'
  message: string
  toolCallId: string
  responseSchema: Record<string, unknown>
  metadata: Record<string, unknown>
}

const text = { type: 'string' }

export const approvalInterrupt = (
  { gate, name, input, reason, shown_hash, redactions }: Of<'gate'>,
  toolCallId: string,
): Interrupt => ({
  id: `apr_${gate}`,
  reason: 'tool_call',
  message: reason,
  toolCallId,
  responseSchema: {
    type: 'object',
    properties: { approved: { type: 'boolean' }, reason: text, shown_hash: text },
    required: ['approved'],
  },
  metadata: { tool: name, input, shown_hash, redactions },
})

export function askInterrupt({ ask, question, action }: Of<'asked'>, toolCallId: string): Interrupt {
  if (question === null)
    return {
      id: `ask_${ask}`,
      reason: 'action_required',
      message: action === null ? '' : `${action.title}\n${action.instructions}`,
      toolCallId,
      responseSchema: { type: 'object', properties: { note: text } },
      metadata: { ...action },
    }
  const { questions, context } = question
  const answer = { type: 'object', properties: { question: text, answer: text } }
  return {
    id: `ask_${ask}`,
    reason: 'input_required',
    message: questions.map(({ prompt }) => prompt).join('\n'),
    toolCallId,
    responseSchema: {
      type: 'object',
      properties: { responses: { type: 'array', items: answer } },
      required: ['responses'],
    },
    metadata: { questions, context },
  }
}
