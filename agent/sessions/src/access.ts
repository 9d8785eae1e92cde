/**
 * Who may see a session and act on it (contract 5). What is not yours does not exist: 404, never 403.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import { AppError, type InboxItem, type Principal } from '@cairn/protocol'

export type Owned = { org_id: string; created_by: string }

/**
 * Whether this principal sees what that owner made: their own, or the organisation's for an admin or an `org`
 * token.
 */
export function mayAccess(principal: Principal, owned: Owned): boolean {
  if (principal.org_id !== owned.org_id) return false
  const wholeOrg = principal.kind === 'user' ? principal.admin : principal.scope === 'org'
  return wholeOrg || principal.id === owned.created_by
}

/** What a listing must filter by so that it shows what mayAccess allows. */
export function visibleTo(principal: Principal): { org_id: string; created_by?: string } {
  const wholeOrg = principal.kind === 'user' ? principal.admin : principal.scope === 'org'
  return wholeOrg ? { org_id: principal.org_id } : { org_id: principal.org_id, created_by: principal.id }
}

/** The session, or not_found when there is none or it belongs to someone else. */
export async function findSession(store: LogStore, principal: Principal, id: string): Promise<SessionRow> {
  const session = await store.getSession(id)
  if (!session || !mayAccess(principal, session))
    throw new AppError('not_found', `There is no session ${id}.`)
  return session
}

export type StoredInboxItem = NonNullable<Awaited<ReturnType<LogStore['getInboxItem']>>>

/** The inbox item, or not_found under the same rule. */
export async function findInboxItem(
  store: LogStore,
  principal: Principal,
  id: string,
): Promise<StoredInboxItem> {
  const item = await store.getInboxItem(id)
  if (!item || !mayAccess(principal, item)) throw new AppError('not_found', `There is no inbox item ${id}.`)
  return item
}

/** The item as the API shows it: owner and private values stay behind. */
export function shownItem(item: StoredInboxItem): InboxItem {
  const { org_id: _org, created_by: _by, private: _private, ...shown } = item
  return shown
}
