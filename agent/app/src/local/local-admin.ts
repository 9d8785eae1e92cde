/**
 * The commands act as the first admin, authorized by read access to the data directory: the server stores who
 * that is, and a process that can also read the signing key creates short-lived tokens. So the commands work
 * while the server has the store open, and no stored file grants access by itself.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mintUserToken } from '@cairn/api/issue'
import type { LogStore, UserRow } from '@cairn/log'

const FILE = 'local-admin.json'
const fileIn = (dataDir: string): string => join(dataDir, FILE)

export const hasLocalAdmin = (dataDir: string): boolean => existsSync(fileIn(dataDir))

export const localAdminId = (dataDir: string): string =>
  (JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as { user_id: string }).user_id

/** A user token of the first admin, valid for half an hour. */
export function localToken(dataDir: string): Promise<string> {
  return mintUserToken({ dataDir, userId: localAdminId(dataDir), now: Date.now() })
}

/** Creates one organization and its admin on the first start; later returns that admin. */
export async function ensureFirstAdmin(store: LogStore, dataDir: string): Promise<UserRow> {
  const admin = await store.accounts.ensureFirstAdmin(
    { id: randomUUID(), name: 'Cairn' },
    { id: randomUUID(), email: 'admin@localhost', name: 'Admin' },
  )
  writeFileSync(fileIn(dataDir), `${JSON.stringify({ user_id: admin.id })}\n`, { mode: 0o600 })
  return admin
}
