/** Organisations, users, service accounts and their logins, for every implementation of the store. */

import type { Keyed, Resource } from '../../engine/resource.ts'
import type { AnswerChange, FoundAnswer, IdempotencyKey } from './answers.ts'

export type { AnswerChange, FoundAnswer, IdempotencyKey, KeyedRequest } from './answers.ts'

/**
 * Columns of the rows that the store returns as they are. A newer program may have added others to the
 * tables, which must not reach the callers.
 */
export const USER_COLUMNS = 'id, org_id, email, name, admin, password_hash, created_at, disabled_at'
export const ACCOUNT_COLUMNS =
  'id, org_id, name, scope, token_sha256, token_prefix, created_by, created_at, expires_at, revoked_at, ' +
  'last_used_at'
export const LOGIN_COLUMNS = 'id, user_id, refresh_sha256, created_at, expires_at, revoked_at'
export const SHARE_COLUMNS =
  'id, token_sha256, org_key, session_id, created_by, created_at, expires_at, revoked_at'

export type UserRow = {
  id: string
  org_id: string
  email: string
  name: string
  admin: boolean
  password_hash: string | null
  created_at: number
  disabled_at: number | null
}
export type ServiceAccountRow = {
  id: string
  org_id: string
  name: string
  scope: 'own' | 'org'
  token_sha256: string
  token_prefix: string
  created_by: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}
export type LoginRow = {
  id: string
  user_id: string
  refresh_sha256: string
  created_at: number
  expires_at: number
  revoked_at: number | null
}

/** A link that gives anyone who has it read access to one session. */
export type ShareRow = {
  id: string
  token_sha256: string
  session_id: string
  /** Id of a user. */
  created_by: string
  created_at: number
  expires_at: number
  revoked_at: number | null
}

/** Organisations, users, service accounts and their logins. Secrets are stored as hashes only. */
export interface AccountStore {
  /** First start: creates an organisation with an administrator, unless there is one. */
  ensureFirstAdmin(
    org: { id: string; name: string },
    admin: { id: string; email: string; name: string },
  ): Promise<UserRow>
  createUser(user: Omit<UserRow, 'created_at' | 'disabled_at'>): Promise<UserRow>
  getUser(id: string): Promise<UserRow | null>
  findUserByEmail(email: string): Promise<UserRow | null>
  listUsers(orgId: string): Promise<UserRow[]>
  setPassword(userId: string, passwordHash: string): Promise<void>
  disableUser(id: string, at: number): Promise<boolean>
  createServiceAccount(
    account: Omit<ServiceAccountRow, 'created_at' | 'revoked_at' | 'last_used_at'>,
  ): Promise<ServiceAccountRow>
  getServiceAccount(id: string): Promise<ServiceAccountRow | null>
  findServiceAccount(tokenSha256: string): Promise<ServiceAccountRow | null>
  listServiceAccounts(orgId: string): Promise<ServiceAccountRow[]>
  revokeServiceAccount(orgId: string, id: string, at: number): Promise<boolean>
  createLogin(login: Omit<LoginRow, 'created_at' | 'revoked_at'>): Promise<LoginRow>
  getLogin(id: string): Promise<LoginRow | null>
  /** Replaces the refresh hash if it still equals `from`; returns false, and changes nothing, otherwise. */
  rotateLogin(id: string, from: string, to: string, expiresAt: number): Promise<boolean>
  revokeLogin(id: string, at: number): Promise<void>
  /** Ends every login of the user except `keep`, and their unused login links. */
  revokeLogins(userId: string, at: number, keep: string | null): Promise<void>
  /** One-time login links, by hash. */
  /** Also invalidates the user's older unused links. */
  addLoginLink(sha256: string, userId: string, expiresAt: number): Promise<void>
  useLoginLink(sha256: string, now: number): Promise<string | null>
  addShare(share: Omit<ShareRow, 'created_at' | 'revoked_at'>): Promise<ShareRow>
  /** In any state, revoked or expired links included. */
  findShare(tokenSha256: string): Promise<ShareRow | null>
  /** Oldest first. */
  listShares(sessionId: string): Promise<ShareRow[]>
  revokeShare(sessionId: string, id: string, at: number): Promise<boolean>
  /** The stored answer of a key whose answer is written by `request.answer`; null if the key is new. */
  findIdempotent(key: IdempotencyKey): Promise<FoundAnswer | null>
  /**
   * Stores the answers of POSTs that create something for 24 h, to replay them. `begin` returns null if the
   * key is new, and claims it. A key that was claimed for the same body a minute ago, and has no answer,
   * belongs to a request that died: it is claimed again, and the result says `abandoned`.
   */
  beginIdempotent(key: IdempotencyKey, bodySha256: string): Promise<FoundAnswer | null>
  finishIdempotent(key: IdempotencyKey, status: number, body: string): Promise<void>
  dropIdempotent(key: IdempotencyKey): Promise<void>
}

/** Null if there is none. */
export const toShare = (row: Keyed<ShareRow> | undefined): ShareRow | null => {
  if (row === undefined) return null
  const { org_key: _, ...share } = row
  return share
}

export type AccountResource = Resource<AnswerChange, object, AnswerChange, AccountStore>

export const accountChanges: AccountResource['changes'] = { 'request.answer': {} }
