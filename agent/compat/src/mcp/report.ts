/** Progress and history as results of tools: a text for the model, and the same as data. */
import type { InboxItem } from '@cairn/protocol'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { CompatDeps } from '../deps.ts'
import type { ExchangeRef, Progress } from './progress.ts'

type State = 'running' | 'waiting' | 'completed' | 'stopped' | 'paused' | 'failed'

function stateOf({ end, open }: Pick<Progress, 'end' | 'open'>): State {
  if (end?.reason === 'stopped' || end?.reason === 'paused' || end?.reason === 'failed') return end.reason
  if (open.size > 0) return 'waiting'
  return end === null ? 'running' : 'completed'
}

/** Why a turn ended without its own answer; null: it has one. */
function problemOf({ end }: Progress): string | null {
  switch (end?.reason) {
    case 'failed':
      return `The session failed (${end.category}): ${end.error}`
    case 'budget_exhausted':
      return 'The turn ended because its budget is exhausted.'
    case 'tool_loop':
      return 'The turn ended because the agent repeated the same call.'
    default:
      return null
  }
}

export const textResult = (text: string, structuredContent?: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text }],
  ...(structuredContent === undefined ? {} : { structuredContent }),
})

/** The outcome of an exchange that is at rest. */
export function outcomeOf({ session }: ExchangeRef, progress: Progress): CallToolResult {
  const problem = problemOf(progress)
  const text = [progress.answer, problem].filter(part => part !== null && part !== '').join('\n\n')
  return {
    ...textResult(text === '' ? 'The turn ended without a text.' : text, {
      session_id: session.id,
      state: stateOf(progress),
      answer: progress.answer,
      ...(problem === null ? {} : { problem }),
    }),
    ...(progress.end?.reason === 'failed' ? { isError: true } : {}),
  }
}

/** An item for a person, as the tools `decide` and `answer` take it. */
type ShownItem = Pick<InboxItem, 'id' | 'kind' | 'payload'>

const ASKING: readonly InboxItem['kind'][] = ['governance_gate', 'input_required', 'action_required']
const MAX_ITEMS = 50

/** What a session waits for; newest first. */
async function openItems(
  { store }: Pick<CompatDeps, 'store'>,
  { session: { org_id, id } }: ExchangeRef,
): Promise<ShownItem[]> {
  const { items } = await store.inbox.list({
    org_id,
    session_id: id,
    status: ['pending'],
    kind: ASKING,
    limit: MAX_ITEMS,
  })
  return items.map(({ id: item, kind, payload }) => ({ id: item, kind, payload }))
}

function shownItem({ id, kind, payload }: ShownItem): Record<string, unknown> {
  const given = payload as Record<string, unknown>
  const pick = (...keys: string[]): Record<string, unknown> =>
    Object.fromEntries(keys.flatMap(key => (given[key] === undefined ? [] : [[key, given[key]]])))
  switch (kind) {
    case 'governance_gate':
      return { item_id: id, kind: 'approval', ...pick('tool_name', 'arguments', 'deny_reason') }
    case 'input_required':
      return { item_id: id, kind: 'question', ...pick('questions', 'context') }
    default:
      return { item_id: id, kind: 'action', ...pick('title', 'instructions', 'target') }
  }
}

const HOW: Record<string, string> = {
  approval: 'Ask the user, then call decide.',
  question: 'Ask the user, then call answer.',
  action: 'Ask the user to do this, then call answer.',
}

/** The state of a session as a client without tasks reads it. */
export async function reportOf(
  deps: Pick<CompatDeps, 'store'>,
  ref: ExchangeRef,
  progress: Progress,
): Promise<CallToolResult> {
  const state = stateOf(progress)
  const problem = problemOf(progress)
  const open = state === 'waiting' ? (await openItems(deps, ref)).map(shownItem) : []
  const text = [
    ...(progress.answer === '' ? [] : [progress.answer]),
    ...(problem === null ? [] : [problem]),
    ...open.map(item => `${HOW[String(item['kind'])] ?? ''} ${JSON.stringify(item)}`),
    ...(state === 'running' ? ['The agent is still working: call wait again.'] : []),
  ].join('\n\n')
  return {
    ...textResult(text === '' ? `The session is ${state}.` : text, {
      session_id: ref.session.id,
      state,
      answer: progress.answer,
      after: progress.last,
      ...(problem === null ? {} : { problem }),
      ...(open.length === 0 ? {} : { open }),
    }),
    ...(state === 'failed' ? { isError: true } : {}),
  }
}
