/**
 * Access to sessions (contract 5). A session that the principal may not see does not exist for it: 404, never
 * 403.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import { AppError, type InboxItem, type Principal } from '@cairn/protocol'

export type Owned = { org_id: string; created_by: string }

/**
 * True if the principal may see what that owner created: its own, or the organisation's for an administrator
 * or a token with scope `org`.
 */
export function mayAccess(principal: Principal, owned: Owned): boolean {
  if (principal.org_id !== owned.org_id) return false
  const wholeOrg = principal.kind === 'user' ? principal.admin : principal.scope === 'org'
  return wholeOrg || principal.id === owned.created_by
}

/** Filters for a listing that match mayAccess. */
export function visibleTo(principal: Principal): { org_id: string; created_by?: string } {
  const wholeOrg = principal.kind === 'user' ? principal.admin : principal.scope === 'org'
  return wholeOrg ? { org_id: principal.org_id } : { org_id: principal.org_id, created_by: principal.id }
}

/** The session; throws not_found if it does not exist or the principal may not see it. */
export async function findSession(store: LogStore, principal: Principal, id: string): Promise<SessionRow> {
  const session = await store.sessions.get(id)
  if (!session || !mayAccess(principal, session)) throw new AppError('not_found', `Session ${id} not found.`)
  return session
}

export type StoredInboxItem = NonNullable<Awaited<ReturnType<LogStore['inbox']['get']>>>

/** The inbox item; throws not_found under the same rule. */
export async function findInboxItem(
  store: LogStore,
  principal: Principal,
  id: string,
): Promise<StoredInboxItem> {
  const item = await store.inbox.get(id)
  if (!item || !mayAccess(principal, item)) throw new AppError('not_found', `Inbox item ${id} not found.`)
  return item
}

/** The item as the API shows it, without its owner and private values. */
export function shownItem(item: StoredInboxItem): InboxItem {
  const { org_id: _org, created_by: _by, private: _private, ...shown } = item
  return shown
}
