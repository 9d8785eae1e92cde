/** What the inbox lists, in which order, and which approvals may be decided together. Pure. */
import { INBOX_KINDS, type InboxItem, type InboxKind } from '@cairn/protocol'
import { toolWords } from '@cairn/state'
import { needsAnswer } from '../queries.ts'

export const INBOX_TABS = ['needs', 'news', 'snoozed', 'decided'] as const
export type InboxTab = (typeof INBOX_TABS)[number]

/** The part of the address that the inbox owns. `from` is an agent; `agent` belongs to the session list. */
export type InboxView = {
  tab: InboxTab
  kind?: InboxKind | undefined
  from?: string | undefined
  item?: string | undefined
}

const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, 200) : undefined

/** Reads the view from an address; ignores invalid values. */
export function readInboxView(search: Readonly<Record<string, unknown>>): InboxView {
  const kind = INBOX_KINDS.find(each => each === search['kind'])
  const [from, item] = [wordOf(search['from']), wordOf(search['item'])]
  return {
    tab: INBOX_TABS.find(each => each === search['tab']) ?? 'needs',
    ...(kind !== undefined && { kind }),
    ...(from !== undefined && { from }),
    ...(item !== undefined && { item }),
  }
}

/** The tab that lists an item. A snoozed one is in its tab alone, until its time. */
export const tabOf = (item: InboxItem): InboxTab =>
  item.status !== 'pending'
    ? 'decided'
    : item.snoozed_until !== undefined
      ? 'snoozed'
      : needsAnswer(item)
        ? 'needs'
        : 'news'

export const isWanted = (item: InboxItem, { kind, from }: Pick<InboxView, 'kind' | 'from'>): boolean =>
  (kind === undefined || item.kind === kind) && (from === undefined || item.agent === from)

/** The items of one session, or of any in the tabs that are not grouped. */
export type InboxGroup = { sessionId: string | null; items: readonly InboxItem[] }

const byAge = (a: InboxItem, b: InboxItem): number => a.created_at.localeCompare(b.created_at)

/** Sessions by their oldest item, and each session's items oldest first: nothing waits below newer work. */
export function groupBySession(items: readonly InboxItem[]): InboxGroup[] {
  const groups = Map.groupBy(items.toSorted(byAge), ({ session_id }) => session_id)
  return [...groups].map(([sessionId, found]) => ({ sessionId, items: found }))
}

/** The item `step` places after this one; at an end, the last in that direction. */
export function neighbour(
  items: readonly InboxItem[],
  id: string | undefined,
  step: number,
): InboxItem | undefined {
  const at = items.findIndex(item => item.id === id)
  if (at < 0) return items[0]
  return items[Math.min(items.length - 1, Math.max(0, at + step))]
}

/** What is selected after this item leaves the list: the next one, else the one before it. */
export function afterDecision(items: readonly InboxItem[], gone: ReadonlySet<string>): InboxItem | undefined {
  const last = items.findLastIndex(({ id }) => gone.has(id))
  return (
    items.slice(last + 1).find(({ id }) => !gone.has(id)) ??
    items.slice(0, Math.max(0, last)).findLast(({ id }) => !gone.has(id))
  )
}

/**
 * Approvals with the same key may be decided together: one session, one family of tools. Null for items whose
 * call cannot be shown in full, because parts of it were redacted or not stored.
 */
export function batchKey({ kind, status, session_id, payload }: InboxItem): string | null {
  const { tool_name: tool, arguments: args, redactions, shown_hash: hash } = payload
  if (kind !== 'governance_gate' || status !== 'pending') return null
  if (typeof tool !== 'string' || typeof args !== 'object' || args === null) return null
  if (typeof hash !== 'string' || (typeof redactions === 'number' && redactions > 0)) return null
  return `${session_id} ${toolWords(tool, args).group?.id ?? tool}`
}

/** The selection after `id` is added or removed. An item of another batch starts a new selection. */
export function toggled(
  items: readonly InboxItem[],
  selected: ReadonlySet<string>,
  id: string,
): ReadonlySet<string> {
  const keyOf = (of: string): string | null => {
    const found = items.find(item => item.id === of)
    return found === undefined ? null : batchKey(found)
  }
  const key = keyOf(id)
  if (key === null) return selected
  if (selected.has(id)) return new Set([...selected].filter(each => each !== id))
  const [first] = selected
  return first !== undefined && keyOf(first) === key ? new Set([...selected, id]) : new Set([id])
}
