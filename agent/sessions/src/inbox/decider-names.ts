/** Names of the people who decided inbox items, because readers cannot use an id. */
import type { LogStore } from '@cairn/log'
import type { InboxItem } from '@cairn/protocol'

/** Adds deciders' names to items of one organisation; a deleted account has none. */
export async function nameDeciders(
  { store: { accounts } }: { store: LogStore },
  orgId: string,
  items: readonly InboxItem[],
): Promise<InboxItem[]> {
  const names = new Map<string, string>()
  const users = new Set(items.flatMap(item => item.decided_by_user_id ?? []))
  for (const id of users) {
    const user = await accounts.getUser(id)
    if (user !== null && user.org_id === orgId) names.set(id, user.name)
  }
  if (items.some(item => item.decided_by_service_account_id !== undefined))
    for (const { id, name } of await accounts.listServiceAccounts(orgId)) names.set(id, name)
  return items.map(item => {
    const name = names.get(item.decided_by_user_id ?? item.decided_by_service_account_id ?? '')
    return name === undefined ? item : { ...item, decided_by_name: name }
  })
}

export const nameDecider = async (
  services: { store: LogStore },
  orgId: string,
  item: InboxItem,
): Promise<InboxItem> => (await nameDeciders(services, orgId, [item]))[0] ?? item
