/** Organisations, people, machines and their logins, in every implementation of the log's store. */

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

/** A link that shows one session to whoever has it. */
export type ShareRow = {
  id: string
  token_sha256: string
  session_id: string
  /** A user. */
  created_by: string
  created_at: number
  expires_at: number
  revoked_at: number | null
}

/** Organisations, people, machines and their logins. Secrets are stored as hashes only. */
export interface AccountStore {
  /** First start: one organisation with one admin, unless there is one already. */
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
  /** Replaces the refresh hash if it still is `from`; false: it is another one, and nothing changed. */
  rotateLogin(id: string, from: string, to: string, expiresAt: number): Promise<boolean>
  revokeLogin(id: string, at: number): Promise<void>
  /** Ends every login of the user but `keep`, and what login links of theirs are unused. */
  revokeLogins(userId: string, at: number, keep: string | null): Promise<void>
  /** One-time login links, by hash. */
  /** Ends the older unused links of the user. */
  addLoginLink(sha256: string, userId: string, expiresAt: number): Promise<void>
  useLoginLink(sha256: string, now: number): Promise<string | null>
  addShare(share: Omit<ShareRow, 'created_at' | 'revoked_at'>): Promise<ShareRow>
  /** Whatever became of it. */
  findShare(tokenSha256: string): Promise<ShareRow | null>
  /** The oldest first. */
  listShares(sessionId: string): Promise<ShareRow[]>
  revokeShare(sessionId: string, id: string, at: number): Promise<boolean>
  /**
   * Answers kept for 24 h for replays of POSTs that create. `begin` is null when the key is new (and now
   * held). A key that the same body has held for a minute without an answer was left behind by a request that
   * died: it is held anew, by this one, and the answer says `abandoned`.
   */
  beginIdempotent(
    key: string,
    principalId: string,
    bodySha256: string,
  ): Promise<{ body_sha256: string; status: number | null; body: string | null; abandoned?: true } | null>
  finishIdempotent(key: string, principalId: string, status: number, body: string): Promise<void>
  dropIdempotent(key: string, principalId: string): Promise<void>
}
