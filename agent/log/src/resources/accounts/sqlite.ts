/** Accounts on the embedded store: reads run on the main thread's connection, writes on the writer's. */
import { addOrganisation, orgNamed, orgOf } from '../../engine/directory.ts'
import type { Keyed, SqliteDeps } from '../../engine/resource.ts'
import {
  answerValues,
  createPurgeSchedule,
  foundAnswer,
  type FoundAnswer,
  IDEMPOTENCY_HOLD_MS,
  IDEMPOTENCY_MS,
  type IdempotencyKey,
  requestAnswered,
  storeAnswer,
  type StoredAnswer,
} from './answers.ts'
import { TOUCH_MS } from './times.ts'
import type { Db } from '../../sqlite/adapter.ts'
import {
  ACCOUNT_COLUMNS,
  LOGIN_COLUMNS,
  SHARE_COLUMNS,
  type AccountResource,
  type AccountStore,
  type LoginRow,
  type ServiceAccountRow,
  type ShareRow,
  toShare,
  USER_COLUMNS,
  type UserRow,
} from './row.ts'

type Stored = StoredAnswer & { created_at: number }
type StoredUser = Omit<UserRow, 'admin'> & { admin: number }
const toUser = (row: StoredUser): UserRow => ({ ...row, admin: row.admin === 1 })
const one = <T>(row: unknown): T | null => (row === undefined ? null : { ...(row as T) })
const oneUser = (row: unknown): UserRow | null => (row === undefined ? null : toUser(row as StoredUser))
const changed = (result: { changes: number | bigint }): boolean => Number(result.changes) > 0

const OF_KEY = `org_key = ${orgNamed('?1')} AND principal_id = ?2 AND key = ?3`
const ANSWER = `SELECT body_sha256, status, body, created_at FROM idempotent_answers WHERE ${OF_KEY}`

function accountReads(db: Db) {
  const answer = db.prepare(ANSWER)
  const user = db.prepare(`SELECT ${USER_COLUMNS} FROM users WHERE id = ?`)
  const userByEmail = db.prepare(`SELECT ${USER_COLUMNS} FROM users WHERE email = ?`)
  const users = db.prepare(`SELECT ${USER_COLUMNS} FROM users WHERE org_id = ? ORDER BY created_at, id`)
  const accountById = db.prepare(`SELECT ${ACCOUNT_COLUMNS} FROM service_accounts WHERE id = ?`)
  const account = db.prepare(`SELECT ${ACCOUNT_COLUMNS} FROM service_accounts WHERE token_sha256 = ?`)
  const accounts = db.prepare(
    `SELECT ${ACCOUNT_COLUMNS} FROM service_accounts WHERE org_id = ? ORDER BY created_at, id`,
  )
  const login = db.prepare(`SELECT ${LOGIN_COLUMNS} FROM logins WHERE id = ?`)
  const share = db.prepare(`SELECT ${SHARE_COLUMNS} FROM share_links WHERE token_sha256 = ?`)
  const shares = db.prepare(
    `SELECT ${SHARE_COLUMNS} FROM share_links WHERE session_id = ? ORDER BY created_at, id`,
  )
  return {
    getUser: (id: string) => oneUser(user.get(id)),
    findUserByEmail: (email: string) => oneUser(userByEmail.get(email)),
    listUsers: (orgId: string) => (users.all(orgId) as StoredUser[]).map(toUser),
    getServiceAccount: (id: string) => one<ServiceAccountRow>(accountById.get(id)),
    findServiceAccount: (tokenSha256: string) => one<ServiceAccountRow>(account.get(tokenSha256)),
    listServiceAccounts: (orgId: string) =>
      (accounts.all(orgId) as ServiceAccountRow[]).map(row => ({ ...row })),
    getLogin: (id: string) => one<LoginRow>(login.get(id)),
    findShare: (tokenSha256: string) => toShare(share.get(tokenSha256) as Keyed<ShareRow> | undefined),
    getAnswer: ({ org_id, principal_id, key }: IdempotencyKey): Stored | null =>
      one<Stored>(answer.get(org_id, principal_id, key)),
    listShares: (sessionId: string) =>
      (shares.all(sessionId) as Keyed<ShareRow>[]).flatMap(row => toShare(row) ?? []),
  }
}

function accountWrites(db: Db) {
  const reads = accountReads(db)
  const firstAdmin = db.prepare(
    'SELECT id FROM users WHERE admin = 1 AND disabled_at IS NULL ORDER BY created_at, id LIMIT 1',
  )
  const addOrg = db.prepare(addOrganisation('?1', '?2', '?3'))
  const nameOrg = db.prepare(`UPDATE organisations SET name = ? WHERE id = ?`)
  const addUser = db.prepare(`
    INSERT INTO users (id, org_id, email, name, admin, password_hash, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`)
  const password = db.prepare('UPDATE users SET password_hash = ? WHERE id = ?')
  const disable = db.prepare('UPDATE users SET disabled_at = ? WHERE id = ? AND disabled_at IS NULL')
  const addAccount = db.prepare(`
    INSERT INTO service_accounts (id, org_id, name, scope, token_sha256, token_prefix, created_by,
      created_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const revokeAccount = db.prepare(
    'UPDATE service_accounts SET revoked_at = ? WHERE org_id = ? AND id = ? AND revoked_at IS NULL',
  )
  const touchAccount = db.prepare('UPDATE service_accounts SET last_used_at = ? WHERE id = ?')
  const addLogin = db.prepare(
    'INSERT INTO logins (id, user_id, refresh_sha256, created_at, expires_at) VALUES (?, ?, ?, ?, ?)',
  )
  const rotate = db.prepare(`
    UPDATE logins
    SET refresh_sha256 = ?, expires_at = ?
    WHERE id = ? AND refresh_sha256 = ? AND revoked_at IS NULL`)
  const revoke = db.prepare('UPDATE logins SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL')
  const revokeAll = db.prepare(
    'UPDATE logins SET revoked_at = ? WHERE user_id = ? AND id IS NOT ? AND revoked_at IS NULL',
  )
  const dropLinksOf = db.prepare('DELETE FROM login_links WHERE user_id = ?')
  const addLink = db.prepare('INSERT INTO login_links (sha256, user_id, expires_at) VALUES (?, ?, ?)')
  const useLink = db.prepare('DELETE FROM login_links WHERE sha256 = ? RETURNING user_id, expires_at')
  const dropLinks = db.prepare('DELETE FROM login_links WHERE expires_at <= ?')
  const dropAnswers = db.prepare(`
    DELETE FROM idempotent_answers WHERE org_key = ${orgNamed('?1')} AND created_at <= ?2`)
  const answer = db.prepare(ANSWER)
  const hold = db.prepare(`
    INSERT INTO idempotent_answers (org_key, principal_id, key, body_sha256, created_at)
    VALUES (${orgNamed('?1')}, ?2, ?3, ?4, ?5)`)
  const retake = db.prepare(`UPDATE idempotent_answers SET created_at = ?4 WHERE ${OF_KEY}`)
  const finish = db.prepare(`UPDATE idempotent_answers SET status = ?4, body = ?5 WHERE ${OF_KEY}`)
  const drop = db.prepare(`DELETE FROM idempotent_answers WHERE ${OF_KEY} AND status IS NULL`)

  const addShare = db.prepare(`
    INSERT INTO share_links (id, token_sha256, session_id, created_by, created_at, expires_at, org_key)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ${orgOf('session', '?3')})`)
  const revokeShare = db.prepare(
    'UPDATE share_links SET revoked_at = ? WHERE session_id = ? AND id = ? AND revoked_at IS NULL',
  )

  function createUser(at: number, row: Omit<UserRow, 'created_at' | 'disabled_at'>): UserRow {
    if (reads.findUserByEmail(row.email) !== null)
      throw new Error(`[createUser] a user with the address ${row.email} exists already`)
    addUser.run(row.id, row.org_id, row.email, row.name, row.admin ? 1 : 0, row.password_hash, at)
    return { ...row, created_at: at, disabled_at: null }
  }

  return {
    ensureFirstAdmin(
      at: number,
      org: { id: string; name: string },
      admin: { id: string; email: string; name: string },
    ): UserRow {
      const found = firstAdmin.get()
      if (found !== undefined) return reads.getUser(String(found['id'])) as UserRow
      addOrg.run(org.id, org.name, at)
      // It has its id as its name if a session came first.
      nameOrg.run(org.name, org.id)
      return createUser(at, { ...admin, org_id: org.id, admin: true, password_hash: null })
    },
    createUser,
    setPassword: (_at: number, userId: string, hash: string): void => void password.run(hash, userId),
    disableUser: (_at: number, id: string, when: number): boolean => changed(disable.run(when, id)),
    createServiceAccount(
      at: number,
      row: Omit<ServiceAccountRow, 'created_at' | 'revoked_at' | 'last_used_at'>,
    ): ServiceAccountRow {
      addAccount.run(
        row.id,
        row.org_id,
        row.name,
        row.scope,
        row.token_sha256,
        row.token_prefix,
        row.created_by,
        at,
        row.expires_at,
      )
      return { ...row, created_at: at, revoked_at: null, last_used_at: null }
    },
    touchServiceAccount: (at: number, id: string): void => void touchAccount.run(at, id),
    revokeServiceAccount: (_at: number, orgId: string, id: string, when: number): boolean =>
      changed(revokeAccount.run(when, orgId, id)),
    createLogin(at: number, row: Omit<LoginRow, 'created_at' | 'revoked_at'>): LoginRow {
      addLogin.run(row.id, row.user_id, row.refresh_sha256, at, row.expires_at)
      return { ...row, created_at: at, revoked_at: null }
    },
    rotateLogin: (_at: number, id: string, from: string, to: string, expiresAt: number): boolean =>
      changed(rotate.run(to, expiresAt, id, from)),
    revokeLogin: (_at: number, id: string, when: number): void => void revoke.run(when, id),
    revokeLogins(_at: number, userId: string, when: number, keep: string | null): void {
      revokeAll.run(when, userId, keep)
      dropLinksOf.run(userId)
    },
    addLoginLink(at: number, sha256: string, userId: string, expiresAt: number): void {
      dropLinks.run(at)
      dropLinksOf.run(userId)
      addLink.run(sha256, userId, expiresAt)
    },
    useLoginLink(_at: number, sha256: string, now: number): string | null {
      const link = useLink.get(sha256) as { user_id: string; expires_at: number } | undefined
      return link !== undefined && link.expires_at > now ? link.user_id : null
    },
    addShare(at: number, row: Omit<ShareRow, 'created_at' | 'revoked_at'>): ShareRow {
      addShare.run(row.id, row.token_sha256, row.session_id, row.created_by, at, row.expires_at)
      return { ...row, created_at: at, revoked_at: null }
    },
    revokeShare: (_at: number, sessionId: string, id: string, when: number): boolean =>
      changed(revokeShare.run(when, sessionId, id)),
    dropAnswers: (at: number, orgId: string): void => void dropAnswers.run(orgId, at - IDEMPOTENCY_MS),
    beginIdempotent(
      at: number,
      { org_id, principal_id, key }: IdempotencyKey,
      bodySha256: string,
    ): FoundAnswer | null {
      dropAnswers.run(org_id, at - IDEMPOTENCY_MS)
      const found = answer.get(org_id, principal_id, key) as Stored | undefined
      if (found !== undefined) {
        const { created_at, ...answered } = found
        if (
          found.status !== null ||
          found.body_sha256 !== bodySha256 ||
          created_at > at - IDEMPOTENCY_HOLD_MS
        )
          return answered
        retake.run(org_id, principal_id, key, at)
        return { ...answered, abandoned: true }
      }
      hold.run(org_id, principal_id, key, bodySha256, at)
      return null
    },
    finishIdempotent(
      _at: number,
      { org_id, principal_id, key }: IdempotencyKey,
      status: number,
      body: string,
    ): void {
      finish.run(org_id, principal_id, key, status, body)
    },
    dropIdempotent: (_at: number, { org_id, principal_id, key }: IdempotencyKey): void =>
      void drop.run(org_id, principal_id, key),
  }
}

type AccountWrites = ReturnType<typeof accountWrites>
type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never

function createAccounts({ db, now, write: ask }: SqliteDeps): AccountStore {
  const reads = accountReads(db)
  const isPurgeDue = createPurgeSchedule(now)
  async function write<M extends keyof AccountWrites>(
    method: M,
    ...args: Tail<Parameters<AccountWrites[M]>>
  ): Promise<ReturnType<AccountWrites[M]>> {
    return (await ask(method, ...args)) as ReturnType<AccountWrites[M]>
  }
  return {
    ensureFirstAdmin: (org, admin) => write('ensureFirstAdmin', org, admin),
    createUser: user => write('createUser', user),
    getUser: async id => reads.getUser(id),
    findUserByEmail: async email => reads.findUserByEmail(email),
    listUsers: async orgId => reads.listUsers(orgId),
    setPassword: (userId, hash) => write('setPassword', userId, hash),
    disableUser: (id, at) => write('disableUser', id, at),
    createServiceAccount: account => write('createServiceAccount', account),
    getServiceAccount: async id => reads.getServiceAccount(id),
    async findServiceAccount(tokenSha256) {
      const found = reads.findServiceAccount(tokenSha256)
      if (found !== null && Math.abs(now() - (found.last_used_at ?? 0)) > TOUCH_MS)
        await write('touchServiceAccount', found.id)
      return found
    },
    listServiceAccounts: async orgId => reads.listServiceAccounts(orgId),
    revokeServiceAccount: (orgId, id, at) => write('revokeServiceAccount', orgId, id, at),
    createLogin: login => write('createLogin', login),
    getLogin: async id => reads.getLogin(id),
    rotateLogin: (id, from, to, expiresAt) => write('rotateLogin', id, from, to, expiresAt),
    revokeLogin: (id, at) => write('revokeLogin', id, at),
    revokeLogins: (userId, at, keep) => write('revokeLogins', userId, at, keep),
    addLoginLink: (sha256, userId, expiresAt) => write('addLoginLink', sha256, userId, expiresAt),
    useLoginLink: (sha256, at) => write('useLoginLink', sha256, at),
    addShare: share => write('addShare', share),
    findShare: async tokenSha256 => reads.findShare(tokenSha256),
    listShares: async sessionId => reads.listShares(sessionId),
    revokeShare: (sessionId, id, at) => write('revokeShare', sessionId, id, at),
    async findIdempotent(key) {
      if (isPurgeDue(key.org_id)) await write('dropAnswers', key.org_id)
      return foundAnswer(reads.getAnswer(key), now())
    },
    beginIdempotent: (key, bodySha256) => write('beginIdempotent', key, bodySha256),
    finishIdempotent: (key, status, body) => write('finishIdempotent', key, status, body),
    dropIdempotent: key => write('dropIdempotent', key),
  }
}

export const accountsOnSqlite: AccountResource['sqlite'] = {
  changes(db) {
    const store = db.prepare(storeAnswer('?'))
    return {
      'request.answer'(change, context) {
        if (store.get(...answerValues(change, context)) === undefined)
          throw requestAnswered(context.row, change.request)
      },
    }
  },
  writes: accountWrites,
  reads: () => ({}),
  store: createAccounts,
}
