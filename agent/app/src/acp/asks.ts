/**
 * Forwards the agent's questions to the client: an approval as a permission request, a question as a form if
 * the client supports forms. An answer goes to the service as the person's own; the log remains the record of
 * questions and decisions.
 */
import {
  type AgentContext,
  type ElicitationSchema,
  methods,
  type PermissionOption,
} from '@agentclientprotocol/sdk'
import type { CairnClient } from '@cairn/client'
import type { EventOf, InboxItem, Question } from '@cairn/protocol'
import { kindOf, titleOf } from './updates.ts'

type Gate = EventOf<'inbox.governance_gate'>
type Asked = EventOf<'inbox.input_required'>
/** `cancelled`: the client ended the turn instead of answering. */
export type Answered = 'answered' | 'cancelled'

const OPTIONS: PermissionOption[] = [
  { optionId: 'approve', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
]

async function itemOf(service: CairnClient, { session_id, id }: Gate): Promise<InboxItem | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await service.call('listInbox', {
      query: { session_id, kind: ['governance_gate'], limit: '100', cursor: cursor ?? undefined } as never,
    })
    const found = page.items.find(({ source_event_id }) => source_event_id === id)
    if (found !== undefined) return found
    cursor = page.next_cursor
  }
  return null
}

/**
 * Asks the client and sends its decision to the service; `signal` fires when the decision is made elsewhere
 * or no longer needed.
 */
export async function askPermission(
  service: CairnClient,
  client: AgentContext,
  gate: Gate,
  signal: AbortSignal,
): Promise<Answered> {
  const { tool_call_id, tool_name, deny_reason, shown_hash } = gate.data
  const rawInput = gate.data.arguments ?? {}
  const { outcome } = await client.request(
    methods.client.session.requestPermission,
    {
      sessionId: gate.session_id,
      options: OPTIONS,
      toolCall: {
        toolCallId: tool_call_id,
        title: titleOf(tool_name, rawInput),
        name: tool_name,
        kind: kindOf(tool_name),
        status: 'pending',
        rawInput,
        content: [{ type: 'content', content: { type: 'text', text: deny_reason } }],
      },
    },
    { cancellationSignal: signal },
  )
  if (outcome.outcome !== 'selected') return 'cancelled'
  const item = await itemOf(service, gate)
  // Already decided elsewhere, for example in the web UI.
  if (item === null || item.status !== 'pending') return 'answered'
  const decision = outcome.optionId === 'approve' ? 'approve' : 'reject'
  await service.call('respondInbox', {
    params: { item_id: item.id },
    body: { decision, ...(shown_hash === undefined ? {} : { shown_hash }) },
  })
  return 'answered'
}

/** One property per question; choices are an enumeration unless free text is allowed. */
function schemaOf(questions: readonly Question[]): ElicitationSchema {
  const keys = questions.map((_, index) => `q${String(index)}`)
  return {
    type: 'object',
    properties: Object.fromEntries(
      questions.map(({ prompt, choices, allow_other }, index) => [
        `q${String(index)}`,
        {
          type: 'string' as const,
          title: prompt,
          ...(choices?.length && allow_other === false
            ? { oneOf: choices.map(({ label }) => ({ const: label, title: label })) }
            : choices?.length
              ? { description: choices.map(({ label }) => label).join(' / ') }
              : {}),
        },
      ]),
    ),
    required: keys,
  }
}

export async function askForm(
  service: CairnClient,
  client: AgentContext,
  asked: Asked,
  signal: AbortSignal,
): Promise<Answered> {
  const { tool_call_id, questions, context } = asked.data
  const answer = await client.request(
    methods.client.elicitation.create,
    {
      mode: 'form',
      sessionId: asked.session_id,
      toolCallId: tool_call_id,
      message: context ?? questions[0]?.prompt ?? 'The agent asks',
      requestedSchema: schemaOf(questions),
    },
    { cancellationSignal: signal },
  )
  if (answer.action !== 'accept') return 'cancelled'
  const content = ('content' in answer ? answer.content : undefined) as Record<string, unknown> | undefined
  await service.call('answerQuestion', {
    params: { id: asked.session_id, tool_call_id },
    body: {
      responses: questions.map(({ prompt }, index) => ({
        question: prompt,
        answer: String(content?.[`q${String(index)}`] ?? ''),
      })),
    },
    idempotencyKey: crypto.randomUUID(),
  })
  return 'answered'
}

/** The question as text, for a client without forms: the next prompt is its answer. */
export const questionText = ({ questions, context }: Asked['data']): string =>
  [
    ...(context === undefined ? [] : [context]),
    ...questions.map(
      ({ prompt, choices }) =>
        `${prompt}${choices?.length ? ` (${choices.map(({ label }) => label).join(' / ')})` : ''}`,
    ),
  ].join('\n')
