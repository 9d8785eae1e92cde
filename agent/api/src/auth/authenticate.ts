/**
 * Authenticates requests. A verified credential is cached for a second, so signatures are not checked every
 * time and a login or account that ended is noticed at most a second late (at once if this process revoked
 * it).
 */
import type { IncomingMessage } from 'node:http'
import type { LogStore, UserRow } from '@cairn/log'
import { AppError, type Principal } from '@cairn/protocol'
import { checkCsrf, readCookie } from './cookies.ts'
import type { ExternalIssuer } from './external-issuer.ts'
import { SERVICE_TOKEN_PREFIX } from './issue.ts'
import { findCookieLogin, loginIsLive } from './logins.ts'
import { sha256 } from './secrets.ts'
import type { SigningKey } from './signing-key.ts'
import { type UserClaims, verifyUserToken } from './user-tokens.ts'

export type Authenticator = {
  /** Throws if the credential is missing or invalid. Returns synchronously when it is cached. */
  identify(req: IncomingMessage): Identity | Promise<Identity>
  /** Invalidates all cached identities after a revocation. */
  forget(): void
  /**
   * False once the login or the account of an open connection has ended. The expiry of an access token alone
   * does not end a connection.
   */
  isStanding(identity: Identity): Promise<boolean>
}
type AuthDeps = {
  store: LogStore
  key: SigningKey
  external: ExternalIssuer | null
  now: () => number
  monotonic: () => number
}

export function createAuthenticator(deps: AuthDeps): Authenticator {
  const { now } = deps
  const remembered = rememberIdentities(deps)
  return {
    identify(req) {
      const { authorization } = req.headers
      if (authorization !== undefined) {
        const token = bearerOf(authorization)
        const known = remembered.get(token)
        if (known !== undefined && remembered.isGood(known)) return known.identity
        if (token.startsWith(SERVICE_TOKEN_PREFIX))
          return identifyService(deps, token).then(found => remembered.keep(token, found))
        const claims = known !== undefined && known.expiresAt > now() ? known.claims : null
        return identifyUser(deps, token, claims).then(found => remembered.keep(token, found))
      }
      const cookie = readCookie(req)
      if (cookie === null || cookie === '')
        throw new AppError(
          'unauthenticated',
          'Missing credentials: send the header Authorization: Bearer <token>.',
        )
      checkCsrf(req)
      const known = remembered.get(`cookie ${cookie}`)
      if (known !== undefined && remembered.isGood(known)) return known.identity
      return identifyCookie(deps, cookie).then(({ extended, ...found }) => {
        const identity = remembered.keep(`cookie ${cookie}`, found)
        return extended ? { ...identity, renewedCookie: cookie } : identity
      })
    },
    forget: remembered.forget,
    isStanding: identity => isStanding(deps, identity),
  }
}

async function identifyUser(
  { store, key, external, now }: AuthDeps,
  token: string,
  known: UserClaims | null,
): Promise<Identified> {
  const at = now()
  if (external?.claims(token)) {
    const { email, expiresAt } = await external.verify(token, at)
    const user = await store.accounts.findUserByEmail(email)
    if (user === null || user.disabled_at !== null)
      throw new AppError(
        'unauthenticated',
        'No user has the email address of this token: an administrator must add the user first.',
      )
    const identity: Identity = {
      principal: principalOf(user),
      by: 'token',
      loginId: null,
      renewedCookie: null,
    }
    return { identity, expiresAt, claims: null }
  }
  const claims = known ?? (await verifyUserToken(key, token, at))
  const { loginId, expiresAt } = claims
  if (loginId !== null && !(await loginIsLive(store, loginId, at)))
    throw new AppError('unauthenticated', 'This login has ended: log in again.')
  const principal = principalOf(await userOf(store, claims.userId))
  return { identity: { principal, by: 'token', loginId, renewedCookie: null }, expiresAt, claims }
}

async function identifyService({ store, now }: AuthDeps, token: string): Promise<Identified> {
  const account = await store.accounts.findServiceAccount(sha256(token))
  if (account === null || account.revoked_at !== null)
    throw new AppError('unauthenticated', 'Invalid service account token.')
  if (account.expires_at !== null && account.expires_at <= now())
    throw new AppError('token_expired', 'This service account token has expired.')
  const { id, org_id, scope, name, expires_at } = account
  const principal: Principal = { kind: 'service_account', id, org_id, scope, name }
  return {
    identity: { principal, by: 'service_account', loginId: null, renewedCookie: null },
    expiresAt: expires_at ?? Infinity,
    claims: null,
  }
}

async function identifyCookie(
  { store, now }: AuthDeps,
  cookie: string,
): Promise<Identified & { extended: boolean }> {
  const { login, extended } = await findCookieLogin({ store, now }, cookie)
  const principal = principalOf(await userOf(store, login.user_id))
  return {
    identity: { principal, by: 'cookie', loginId: login.id, renewedCookie: null },
    expiresAt: login.expires_at,
    claims: null,
    extended,
  }
}

async function userOf(store: LogStore, userId: string): Promise<UserRow> {
  const user = await store.accounts.getUser(userId)
  if (user === null || user.disabled_at !== null)
    throw new AppError('unauthenticated', 'The user of this token was deleted or disabled.')
  return user
}

async function isStanding({ store, now }: AuthDeps, { principal, loginId }: Identity): Promise<boolean> {
  if (principal.kind === 'service_account') {
    const account = (await store.accounts.listServiceAccounts(principal.org_id)).find(
      ({ id }) => id === principal.id,
    )
    return (
      account !== undefined &&
      account.revoked_at === null &&
      (account.expires_at === null || account.expires_at > now())
    )
  }
  const user = await store.accounts.getUser(principal.id)
  if (user === null || user.disabled_at !== null) return false
  return loginId === null || loginIsLive(store, loginId, now())
}

function bearerOf(header: string): string {
  if (header.length > 8192 || header.slice(0, 7).toLowerCase() !== 'bearer ')
    throw new AppError('unauthenticated', 'Invalid Authorization header: must be Bearer <token>.')
  return header.slice(7).trim()
}

const principalOf = (user: UserRow): Principal => ({
  kind: 'user',
  id: user.id,
  org_id: user.org_id,
  admin: user.admin,
  name: user.name,
  email: user.email,
})

export type Identity = {
  principal: Principal
  by: 'token' | 'cookie' | 'service_account'
  /** The login of a user; null for other credentials and for tokens without a login. */
  loginId: string | null
  /** The cookie was extended and must be set again. */
  renewedCookie: string | null
}
/** An identity with what is needed to cache it. */
type Identified = {
  identity: Identity
  /** Epoch milliseconds, from the token. */
  expiresAt: number
  claims: UserClaims | null
}
type Remembered = Identified & {
  /** Monotonic time: revocations by other processes must be noticed in time whatever the wall clock says. */
  until: number
}

const TRUST_MS = 1_000
const CAPACITY = 20_000

/** Cache of recently verified credentials. */
function rememberIdentities({ now, monotonic }: { now: () => number; monotonic: () => number }) {
  const remembered = new Map<string, Remembered>()
  return {
    get: (credential: string): Remembered | undefined => remembered.get(credential),
    isGood: ({ until, expiresAt }: Remembered): boolean => until > monotonic() && expiresAt > now(),
    keep(credential: string, found: Identified): Identity {
      if (remembered.size >= CAPACITY) remembered.clear()
      remembered.set(credential, { ...found, until: monotonic() + TRUST_MS })
      return found.identity
    },
    /** Invalidates all entries; the verified claims of tokens are kept. */
    forget(): void {
      for (const entry of remembered.values()) entry.until = -Infinity
    },
  }
}
