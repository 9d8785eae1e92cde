/**
 * Interprets text that is typed while a question is open as its answer (contract 6.8): the text answers every
 * prompt of the call. A choice matches in any casing; other text needs a prompt that allows it.
 */
import type { LogStore } from '@cairn/log'
import type { EventData, Principal } from '@cairn/protocol'

type Asked = EventData<'inbox.input_required'>
export type OpenQuestion = { id: string; tool_call_id: string; questions: Asked['questions'] }

/** The open questions of a session, oldest first. */
export async function openQuestions(
  store: LogStore,
  { org_id }: Pick<Principal, 'org_id'>,
  session_id: string,
): Promise<OpenQuestion[]> {
  const { items } = await store.inbox.list({
    org_id,
    session_id,
    kind: ['input_required'],
    status: ['pending'],
    limit: 100,
  })
  return items.toReversed().map(({ id, payload }) => {
    const { tool_call_id, questions } = payload as Asked
    return { id, tool_call_id, questions }
  })
}

type Typed = { content: string; attachments?: unknown; images?: unknown; metadata?: unknown }
export type TypedAnswer = { tool_call_id: string; responses: { question: string; answer: string }[] }

/** The answer that the text means, or why it is not one. */
export function typedAnswer(
  open: readonly OpenQuestion[],
  { content, attachments, images, metadata }: Typed,
  numbered = false,
): TypedAnswer | string {
  if (attachments !== undefined || images !== undefined || metadata !== undefined)
    return 'an answer must be plain text, without attachments, images or metadata'
  const [asked] = open
  if (asked === undefined || open.length > 1)
    return `${open.length} questions are pending, and the message does not say which one it answers`
  const text = content.trim()
  if (text === '') return 'it is empty'
  const responses: TypedAnswer['responses'] = []
  for (const { prompt, choices = [], allow_other } of asked.questions) {
    const choice =
      choices.find(({ label }) => label.toLowerCase() === text.toLowerCase()) ??
      // If choices are shown with numbers, a number selects its choice.
      (numbered && /^[1-9]\d?\.?$/.test(text) ? choices[Number.parseInt(text, 10) - 1] : undefined)
    if (choice === undefined && choices.length > 0 && allow_other === false)
      return (
        `the answer to ${JSON.stringify(prompt)} must be one of: ` +
        `${choices.map(({ label }) => JSON.stringify(label)).join(', ')}`
      )
    responses.push({ question: prompt, answer: choice?.label ?? text })
  }
  return { tool_call_id: asked.tool_call_id, responses }
}
