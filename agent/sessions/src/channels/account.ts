/** The service account that acts for unlinked senders of a connection. */
import { createHash } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import { derivedId } from '../derived-id.ts'

/** Creates the account once. It has no usable token: the hash is of a random value that is not kept. */
export async function ensureChannelAccount(
  { store: { accounts }, newId }: { store: Pick<LogStore, 'accounts'>; newId: () => string },
  { org_id, name, created_by }: { org_id: string; name: string; created_by: string },
): Promise<string> {
  const id = derivedId('channel account', org_id, name)
  const isThere = async (): Promise<boolean> =>
    (await accounts.listServiceAccounts(org_id)).some(account => account.id === id)
  if (await isThere()) return id
  try {
    await accounts.createServiceAccount({
      id,
      org_id,
      name: `channel:${name}`,
      scope: 'own',
      token_sha256: createHash('sha256').update(`${newId()}${newId()}`).digest('hex'),
      token_prefix: '',
      created_by,
      expires_at: null,
    })
  } catch (error) {
    // Another process created it first.
    if (!(await isThere())) throw error
  }
  return id
}
