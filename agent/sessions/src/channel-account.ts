/** The account that speaks for senders of a connection whom nobody knows. */
import { createHash } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import { derivedId } from './derived-id.ts'

/** Nobody has a token of it: its hash is of nothing that was kept. Made once, whoever asks first. */
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
  } catch (thrown) {
    // Another process was first.
    if (!(await isThere())) throw thrown
  }
  return id
}
