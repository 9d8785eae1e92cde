/** Credentials that the command line issues: user tokens, service accounts, login links. */
import type { LogStore, ServiceAccountRow } from '@cairn/log'
import { newSecret, sha256 } from './secrets.ts'
import { loadSigningKey } from './signing-key.ts'
import { ACCESS_TTL_S, signUserToken } from './user-tokens.ts'

export const SERVICE_TOKEN_PREFIX = 'cairn_sk_'
/** Makes the token of a login link recognisable wherever it leaks. */
const LOGIN_LINK_PREFIX = 'cairn_ll_'
/** A login link expires after this time. */
export const LOGIN_LINK_TTL_MS = 24 * 60 * 60 * 1000

export type MintUserToken = {
  dataDir: string
  userId: string
  /** Epoch milliseconds. */ now: number
  ttlS?: number
}

/**
 * Issues a user token, signed with the key of the data directory alone: it works beside a running server that
 * owns the store.
 */
export async function mintUserToken({
  dataDir,
  userId,
  now,
  ttlS = ACCESS_TTL_S,
}: MintUserToken): Promise<string> {
  return signUserToken(await loadSigningKey(dataDir), { userId, loginId: null, now, ttlS })
}

export type NewServiceAccount = {
  id: string
  org_id: string
  name: string
  scope: 'own' | 'org'
  created_by: string
  expires_at: number | null
}

/** Creates a service account. Only this result contains the token. */
export async function createServiceAccount(
  store: LogStore,
  account: NewServiceAccount,
): Promise<{ account: ServiceAccountRow; token: string }> {
  const token = SERVICE_TOKEN_PREFIX + newSecret()
  const row = await store.accounts.createServiceAccount({
    ...account,
    token_sha256: sha256(token),
    token_prefix: token.slice(0, SERVICE_TOKEN_PREFIX.length + 6),
  })
  return { account: row, token }
}

/**
 * Creates a token that logs a user in once. The UI reads it from the fragment of `loginLinkPath`, which no
 * server or log sees.
 */
export async function createLoginLink(
  store: LogStore,
  userId: string,
  now: number,
  ttlMs: number = LOGIN_LINK_TTL_MS,
): Promise<string> {
  const token = LOGIN_LINK_PREFIX + newSecret()
  await store.accounts.addLoginLink(sha256(token), userId, now + ttlMs)
  return token
}

export const loginLinkPath = (token: string): string => `/login#token=${token}`
