/**
 * What one person sets aside in the inbox: snoozed and unread items. The item itself, its agent and other
 * people are not affected.
 */
import type { MarkOwner } from '@cairn/log'
import { AppError, type InboxItem, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import { findInboxItem, shownItem, type StoredInboxItem } from '../access.ts'
import type { Deps } from '../deps.ts'
import { answeredBefore } from '../refusals.ts'

/** Documented in `docs/inbox.md`. */
const MAX_MARKED_ITEMS = 500
const MAX_SNOOZE_DAYS = 90
const DAY_MS = 86_400_000

/** Times are epoch milliseconds. `read_at` is for items of other people's sessions. */
const ItemMark = z.object({
  snoozed_until: z.number().optional(),
  unread: z.boolean().optional(),
  read_at: z.number().optional(),
})
type ItemMark = z.infer<typeof ItemMark>

const ownerOf = ({ org_id, id }: Pick<Principal, 'org_id' | 'id'>): MarkOwner => ({ org_id, user_id: id })

async function readMarks(
  { store }: Pick<Deps, 'store'>,
  principal: Principal,
): Promise<Map<string, ItemMark>> {
  if (principal.kind !== 'user') return new Map()
  const rows = await store.marks.list(ownerOf(principal), 'item')
  return new Map(rows.map(({ about, content }) => [about, ItemMark.parse(JSON.parse(content))]))
}

function withMark(item: InboxItem, mark: ItemMark | undefined, now: number): InboxItem {
  if (mark === undefined || item.status !== 'pending') return item
  const { snoozed_until: until = 0, unread, read_at: read } = mark
  return {
    ...item,
    ...(read !== undefined && { read_at: new Date(read).toISOString() }),
    ...(unread === true && { read_at: null }),
    ...(until > now && { snoozed_until: new Date(until).toISOString() }),
  }
}

/** Adds the principal's own marks to items. Service accounts have none. */
export async function markItems(
  deps: Pick<Deps, 'store' | 'now'>,
  principal: Principal,
  items: readonly InboxItem[],
): Promise<InboxItem[]> {
  const marks = await readMarks(deps, principal)
  return items.map(item => withMark(item, marks.get(item.id), deps.now()))
}

async function findPending(deps: Deps, principal: Principal, itemId: string): Promise<StoredInboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  if (item.status !== 'pending') throw answeredBefore(item)
  return item
}

async function change(
  deps: Deps,
  principal: Principal,
  item: StoredInboxItem,
  make: (before: ItemMark) => ItemMark,
): Promise<InboxItem> {
  const { marks } = deps.store
  const owner = ownerOf(principal)
  const mark = make((await readMarks(deps, principal)).get(item.id) ?? {})
  const isEmpty = Object.values(mark).every(value => value === undefined)
  if (isEmpty) await marks.remove(owner, 'item', item.id)
  else {
    await marks.pruneItems(owner)
    const content = JSON.stringify(mark)
    if (!(await marks.put(owner, { kind: 'item', about: item.id, content }, MAX_MARKED_ITEMS)))
      throw new AppError(
        'limit_reached',
        `You have ${MAX_MARKED_ITEMS} snoozed, unread or read items of others, which is the maximum.`,
      )
  }
  return withMark(shownItem(item), mark, deps.now())
}

/** Hides a pending item from what needs the person until that time. */
export async function snoozeItem(
  deps: Deps,
  itemId: string,
  until: string,
  principal: Principal,
): Promise<InboxItem> {
  const item = await findPending(deps, principal, itemId)
  const at = Date.parse(until)
  const problem =
    at <= deps.now()
      ? 'must be in the future'
      : at > deps.now() + MAX_SNOOZE_DAYS * DAY_MS
        ? `must be at most ${MAX_SNOOZE_DAYS} days from now`
        : null
  if (problem !== null)
    throw new AppError('invalid_body', `Invalid until ${until}: ${problem}.`, {
      extra: { errors: [{ path: 'until', message: problem }] },
    })
  return change(deps, principal, item, before => ({ ...before, snoozed_until: at }))
}

/** Also succeeds for an item that is not snoozed, or no longer open. */
export async function unsnoozeItem(deps: Deps, itemId: string, principal: Principal): Promise<InboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  return change(deps, principal, item, ({ snoozed_until: _, ...rest }) => rest)
}

export const markItemUnread = async (deps: Deps, itemId: string, principal: Principal): Promise<InboxItem> =>
  change(deps, principal, await findPending(deps, principal, itemId), before => ({ ...before, unread: true }))

/**
 * Marks an item as read; its status does not change. The owner's reading is a property of the item. An
 * administrator who reads an item of another person's session reads it for themselves alone.
 */
export async function readInbox(deps: Deps, itemId: string, principal: Principal): Promise<InboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  if (principal.kind === 'user' && principal.id !== item.created_by)
    return change(deps, principal, item, ({ unread: _, ...rest }) => ({ ...rest, read_at: deps.now() }))
  const read = (await deps.store.inbox.markRead(item.id)) ?? shownItem(item)
  const before = (await readMarks(deps, principal)).get(item.id)
  if (before?.unread !== true) return withMark(read, before, deps.now())
  await change(deps, principal, item, ({ unread: _, ...rest }) => rest)
  return withMark(read, { ...before, unread: false }, deps.now())
}
