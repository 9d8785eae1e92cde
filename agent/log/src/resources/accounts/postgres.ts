/**
 * Organisations, users, service accounts and their logins on Postgres. A write is one statement, so replicas
 * need no lock between them.
 */
import {
  answerValues,
  createPurgeSchedule,
  foundAnswer,
  IDEMPOTENCY_HOLD_MS,
  IDEMPOTENCY_MS,
  type IdempotencyKey,
  requestAnswered,
  storeAnswer,
  type StoredAnswer,
} from './answers.ts'
import { TOUCH_MS } from './times.ts'
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
import { addOrganisation, orgNamed, orgOf } from '../../engine/directory.ts'
import type { Keyed, PostgresDeps } from '../../engine/resource.ts'
import type { Rows, Statement, Value } from '../../postgres/connections.ts'

const S = <const T extends Record<string, string>>(texts: T): { [K in keyof T]: Statement } =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, { name: `account_${name}`, text }]),
  ) as { [K in keyof T]: Statement }

const OF_KEY = `org_key = ${orgNamed('$1')} AND principal_id = $2 AND key = $3`

const SQL = S({
  lockFirst: 'SELECT pg_advisory_xact_lock(hashtext(current_schema()), 1)',
  firstAdmin: `SELECT ${USER_COLUMNS} FROM users WHERE admin AND disabled_at IS NULL ORDER BY created_at, id LIMIT 1`,
  addOrg: addOrganisation('$1', '$2', '$3::bigint'),
  // It has its id as its name if a session came first.
  nameOrg: `UPDATE organisations SET name = $2 WHERE id = $1 RETURNING id`,
  addUser: `
    INSERT INTO users (id, org_id, email, name, admin, password_hash, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT DO NOTHING
    RETURNING id`,
  user: `SELECT ${USER_COLUMNS} FROM users WHERE id = $1`,
  userByEmail: `SELECT ${USER_COLUMNS} FROM users WHERE lower(email) = lower($1)`,
  users: `SELECT ${USER_COLUMNS} FROM users WHERE org_id = $1 ORDER BY created_at, id`,
  password: 'UPDATE users SET password_hash = $2 WHERE id = $1',
  disable: 'UPDATE users SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL RETURNING id',
  addAccount: `
    INSERT INTO service_accounts (id, org_id, name, scope, token_sha256, token_prefix, created_by,
      created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
  accountById: `SELECT ${ACCOUNT_COLUMNS} FROM service_accounts WHERE id = $1`,
  account: `SELECT ${ACCOUNT_COLUMNS} FROM service_accounts WHERE token_sha256 = $1`,
  accounts: `SELECT ${ACCOUNT_COLUMNS} FROM service_accounts WHERE org_id = $1 ORDER BY created_at, id`,
  touchAccount: 'UPDATE service_accounts SET last_used_at = $2 WHERE id = $1',
  revokeAccount: `
    UPDATE service_accounts
    SET revoked_at = $3
    WHERE org_id = $1 AND id = $2 AND revoked_at IS NULL
    RETURNING id`,
  addLogin:
    'INSERT INTO logins (id, user_id, refresh_sha256, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)',
  login: `SELECT ${LOGIN_COLUMNS} FROM logins WHERE id = $1`,
  rotate: `
    UPDATE logins
    SET refresh_sha256 = $3, expires_at = $4
    WHERE id = $1 AND refresh_sha256 = $2 AND revoked_at IS NULL
    RETURNING id`,
  revoke: 'UPDATE logins SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL',
  revokeAll:
    'UPDATE logins SET revoked_at = $2 WHERE user_id = $1 AND id IS DISTINCT FROM $3 AND revoked_at IS NULL',
  dropLinksOf: 'DELETE FROM login_links WHERE user_id = $1',
  dropLinks: 'DELETE FROM login_links WHERE expires_at <= $1',
  addLink: 'INSERT INTO login_links (sha256, user_id, expires_at) VALUES ($1, $2, $3)',
  useLink: 'DELETE FROM login_links WHERE sha256 = $1 RETURNING user_id, expires_at',
  addShare: `
    INSERT INTO share_links (id, token_sha256, session_id, created_by, created_at, expires_at, org_key)
    VALUES ($1, $2, $3, $4, $5, $6, ${orgOf('session', '$3')})`,
  share: `SELECT ${SHARE_COLUMNS} FROM share_links WHERE token_sha256 = $1`,
  shares: `SELECT ${SHARE_COLUMNS} FROM share_links WHERE session_id = $1 ORDER BY created_at, id`,
  revokeShare: `
    UPDATE share_links
    SET revoked_at = $3
    WHERE session_id = $1 AND id = $2 AND revoked_at IS NULL
    RETURNING id`,
  dropAnswers: `DELETE FROM idempotent_answers WHERE org_key = ${orgNamed('$1')} AND created_at <= $2`,
  hold: `
    INSERT INTO idempotent_answers (org_key, principal_id, key, body_sha256, created_at)
    VALUES (${orgNamed('$1')}, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
    RETURNING key`,
  answer: `SELECT body_sha256, status, body, created_at FROM idempotent_answers WHERE ${OF_KEY}`,
  storeAnswer: storeAnswer('$'),
  retake: `
    UPDATE idempotent_answers SET created_at = $5
    WHERE ${OF_KEY} AND body_sha256 = $4 AND status IS NULL AND created_at <= $6
    RETURNING key`,
  finish: `UPDATE idempotent_answers SET status = $4, body = $5 WHERE ${OF_KEY}`,
  drop: `DELETE FROM idempotent_answers WHERE ${OF_KEY} AND status IS NULL`,
})

type Stored = StoredAnswer & { created_at: number }
const keyValues = ({ org_id, principal_id, key }: IdempotencyKey): string[] => [org_id, principal_id, key]

function createAccounts({ db, now, write }: PostgresDeps): AccountStore {
  const isPurgeDue = createPurgeSchedule(now)
  /** For idempotent statements, which may be repeated. */
  const again = (statement: Statement, values: readonly Value[]): Promise<Rows> =>
    db.query(statement, values, { repeatable: true })
  const one = async <T>(rows: Promise<Rows>): Promise<T | null> => ((await rows)[0] ?? null) as T | null
  const userValues = (user: Omit<UserRow, 'created_at' | 'disabled_at'>, at: number): Value[] => [
    user.id,
    user.org_id,
    user.email,
    user.name,
    user.admin,
    user.password_hash,
    at,
  ]

  return {
    ensureFirstAdmin: (org, admin) =>
      db.transaction('ensureFirstAdmin', async ask => {
        // Replicas that start together create only one.
        await ask(SQL.lockFirst)
        const [found] = await ask(SQL.firstAdmin)
        if (found !== undefined) return found as UserRow
        const at = now()
        const user = { ...admin, org_id: org.id, admin: true, password_hash: null }
        while ((await ask(SQL.nameOrg, [org.id, org.name])).length === 0)
          await ask(SQL.addOrg, [org.id, org.name, at])
        await ask(SQL.addUser, userValues(user, at))
        return { ...user, created_at: at, disabled_at: null }
      }),
    async createUser(user) {
      const at = now()
      if ((await write(SQL.addUser, userValues(user, at))).length === 0)
        throw new Error(`[createUser] a user with the address ${user.email} exists already`)
      return { ...user, created_at: at, disabled_at: null }
    },
    getUser: id => one<UserRow>(again(SQL.user, [id])),
    findUserByEmail: email => one<UserRow>(again(SQL.userByEmail, [email])),
    listUsers: async orgId => (await again(SQL.users, [orgId])) as UserRow[],
    setPassword: async (userId, hash) => void (await again(SQL.password, [userId, hash])),
    disableUser: async (id, at) => (await write(SQL.disable, [id, at])).length > 0,
    async createServiceAccount(row) {
      const at = now()
      await write(SQL.addAccount, [
        row.id,
        row.org_id,
        row.name,
        row.scope,
        row.token_sha256,
        row.token_prefix,
        row.created_by,
        at,
        row.expires_at,
      ])
      return { ...row, created_at: at, revoked_at: null, last_used_at: null }
    },
    getServiceAccount: id => one<ServiceAccountRow>(again(SQL.accountById, [id])),
    async findServiceAccount(tokenSha256) {
      const found = await one<ServiceAccountRow>(again(SQL.account, [tokenSha256]))
      if (found !== null && Math.abs(now() - (found.last_used_at ?? 0)) > TOUCH_MS)
        await again(SQL.touchAccount, [found.id, now()])
      return found
    },
    listServiceAccounts: async orgId => (await again(SQL.accounts, [orgId])) as ServiceAccountRow[],
    revokeServiceAccount: async (orgId, id, at) =>
      (await write(SQL.revokeAccount, [orgId, id, at])).length > 0,
    async createLogin(row) {
      const at = now()
      await write(SQL.addLogin, [row.id, row.user_id, row.refresh_sha256, at, row.expires_at])
      return { ...row, created_at: at, revoked_at: null }
    },
    getLogin: id => one<LoginRow>(again(SQL.login, [id])),
    rotateLogin: async (id, from, to, expiresAt) =>
      (await write(SQL.rotate, [id, from, to, expiresAt])).length > 0,
    revokeLogin: async (id, at) => void (await again(SQL.revoke, [id, at])),
    async revokeLogins(userId, at, keep) {
      await again(SQL.revokeAll, [userId, at, keep])
      await again(SQL.dropLinksOf, [userId])
    },
    async addLoginLink(sha256, userId, expiresAt) {
      await again(SQL.dropLinks, [now()])
      await again(SQL.dropLinksOf, [userId])
      await write(SQL.addLink, [sha256, userId, expiresAt])
    },
    async useLoginLink(sha256, at) {
      const link = await one<{ user_id: string; expires_at: number }>(write(SQL.useLink, [sha256]))
      return link !== null && link.expires_at > at ? link.user_id : null
    },
    async addShare(row) {
      const at = now()
      const { id, token_sha256, session_id, created_by, expires_at } = row
      await write(SQL.addShare, [id, token_sha256, session_id, created_by, at, expires_at])
      return { ...row, created_at: at, revoked_at: null }
    },
    findShare: async tokenSha256 =>
      toShare((await again(SQL.share, [tokenSha256]))[0] as Keyed<ShareRow> | undefined),
    listShares: async sessionId =>
      ((await again(SQL.shares, [sessionId])) as Keyed<ShareRow>[]).flatMap(row => toShare(row) ?? []),
    revokeShare: async (sessionId, id, at) => (await write(SQL.revokeShare, [sessionId, id, at])).length > 0,
    async findIdempotent(key) {
      if (isPurgeDue(key.org_id)) await again(SQL.dropAnswers, [key.org_id, now() - IDEMPOTENCY_MS])
      const stored = await one<Stored>(again(SQL.answer, keyValues(key)))
      return foundAnswer(stored, now())
    },
    async beginIdempotent(key, bodySha256) {
      const at = now()
      const own = keyValues(key)
      await again(SQL.dropAnswers, [key.org_id, at - IDEMPOTENCY_MS])
      for (;;) {
        if ((await write(SQL.hold, [...own, bodySha256, at])).length > 0) return null
        // If several find it abandoned, one gets it: the others see its changed time.
        if ((await write(SQL.retake, [...own, bodySha256, at, at - IDEMPOTENCY_HOLD_MS])).length > 0)
          return { body_sha256: bodySha256, status: null, body: null, abandoned: true }
        const stored = await one<Stored>(again(SQL.answer, own))
        // It was deleted in between, so the key is free again.
        if (stored === null) continue
        const { created_at: _, ...found } = stored
        return found
      }
    },
    finishIdempotent: async (key, status, body) =>
      void (await again(SQL.finish, [...keyValues(key), status, body])),
    dropIdempotent: async key => void (await again(SQL.drop, keyValues(key))),
  }
}

export const accountsOnPostgres: AccountResource['postgres'] = {
  changes: {
    async 'request.answer'(ask, change, context) {
      const stored = await ask(SQL.storeAnswer, answerValues(change, context))
      if (stored.length === 0) throw requestAnswered(context.row, change.request)
    },
  },
  store: createAccounts,
}
