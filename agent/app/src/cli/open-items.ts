/** Open inbox items, as the commands show and answer them. */
import type { CairnClient } from '@cairn/client'
import { exactText, type InboxItem, type InboxKind, Question } from '@cairn/protocol'
import { z } from 'zod'
import { oneLine } from './terminal-text.ts'

const Asked = z.object({ tool_call_id: z.string(), questions: z.array(Question) })
export type Asked = z.infer<typeof Asked>

type Wanted = { session_id?: string | undefined; kind?: InboxKind; all?: boolean; signal: AbortSignal }

/** Sorted by age, oldest first. */
export async function openItems(
  client: CairnClient,
  { session_id, kind, all = false, signal }: Wanted,
): Promise<InboxItem[]> {
  const items: InboxItem[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.call('listInbox', {
      query: { limit: 200, session_id, kind, ...(all ? {} : { status: 'pending' }), cursor },
      signal,
    })
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items.toReversed()
}

/** The questions of an item; null if the item is not a question. */
export const questionsOf = ({ kind, payload }: Pick<InboxItem, 'kind' | 'payload'>): Asked | null =>
  kind === 'input_required' ? Asked.parse(payload) : null

/** A question as lines, with numbered choices. */
export const questionLines = ({ questions }: Asked): string[] =>
  questions.flatMap(({ prompt, choices = [] }) => [
    `? ${oneLine(prompt, 500)}`,
    ...choices.map(({ label }, at) => `  ${at + 1}  ${oneLine(label, 200)}`),
  ])

/** A number selects the choice with that number. */
export function answerOf({ choices = [] }: Asked['questions'][number], given: string): string {
  const at = /^\d{1,3}$/.test(given.trim()) ? Number(given) - 1 : -1
  return choices[at]?.label ?? given
}

/** Everything that a gate covers, and which parts cannot be displayed. */
export function gateLines({ kind, payload }: Pick<InboxItem, 'kind' | 'payload'>): string[] {
  if (kind !== 'governance_gate') return []
  const { tool_name: tool, arguments: args, arguments_excerpt: excerpt, redactions } = payload
  return [
    `${oneLine(String(tool), 80)} ` +
      `${exactText(args === undefined ? String(excerpt) : JSON.stringify(args, null, 2))}`,
    ...(typeof redactions === 'number' && redactions > 0
      ? [
          redactions === 1
            ? '1 part of these arguments is hidden because it looks like a secret. The call still uses it.'
            : `${redactions} parts of these arguments are hidden because they look like secrets. ` +
              'The call still uses them.',
        ]
      : []),
  ]
}

/** Approves or rejects exactly what was shown. */
export function decide(
  client: CairnClient,
  { id, payload }: InboxItem,
  decision: 'approve' | 'reject',
  signal: AbortSignal,
): Promise<InboxItem> {
  const hash = payload['shown_hash']
  return client.call('respondInbox', {
    params: { item_id: id },
    body: { decision, ...(typeof hash === 'string' && { shown_hash: hash }) },
    signal,
  })
}
