/**
 * Who asks. A token that was checked is remembered for a second: signatures are checked once, and whether its
 * login or account still stands at most a second late (at once for what this process itself revokes).
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

export type Identity = {
  principal: Principal
  by: 'token' | 'cookie' | 'service_account'
  /** The login behind a user, where it is one of ours. */
  loginId: string | null
  /** The cookie has been extended and should be set again. */
  renewedCookie: string | null
}
export type Authenticator = {
  /** Throws when there is no credential or a bad one. Answers at once when the token is remembered. */
  identify(req: IncomingMessage): Identity | Promise<Identity>
  /** Something was revoked: nothing remembered counts. */
  forget(): void
  /**
   * Whether what stood behind a stream when it was opened still stands; the expiry of an access token does
   * not end one.
   */
  isStanding(identity: Identity): Promise<boolean>
}
type Remembered = {
  identity: Identity
  /** Of the monotonic clock: a revocation elsewhere must be seen in time whatever the date says. */
  until: number
  /** Epoch milliseconds: a date, as the token has it. */
  expiresAt: number
  claims: UserClaims | null
}

const TRUST_MS = 1_000
const CAPACITY = 20_000

export function createAuthenticator({
  store,
  key,
  external,
  now,
  monotonic,
}: {
  store: LogStore
  key: SigningKey
  external: ExternalIssuer | null
  now: () => number
  monotonic: () => number
}): Authenticator {
  const remembered = new Map<string, Remembered>()

  function remember(token: string, entry: Remembered): Identity {
    if (remembered.size >= CAPACITY) remembered.clear()
    remembered.set(token, entry)
    return entry.identity
  }

  const isGood = ({ until, expiresAt }: Remembered): boolean => until > monotonic() && expiresAt > now()

  async function userOf(userId: string): Promise<UserRow> {
    const user = await store.accounts.getUser(userId)
    if (user === null || user.disabled_at !== null)
      throw new AppError('unauthenticated', 'The user of this token is gone or disabled.')
    return user
  }

  async function identifyUser(token: string, known: UserClaims | null): Promise<Identity> {
    const at = now()
    if (external?.claims(token)) {
      const { email, expiresAt } = await external.verify(token, at)
      const user = await store.accounts.findUserByEmail(email)
      if (user === null || user.disabled_at !== null)
        throw new AppError(
          'unauthenticated',
          'Nobody here has the e-mail of this token; an administrator must add the user first.',
        )
      return remember(token, {
        identity: { principal: principalOf(user), by: 'token', loginId: null, renewedCookie: null },
        until: monotonic() + TRUST_MS,
        expiresAt,
        claims: null,
      })
    }
    const claims = known ?? (await verifyUserToken(key, token, at))
    if (claims.loginId !== null && !(await loginIsLive(store, claims.loginId, at)))
      throw new AppError('unauthenticated', 'The login of this token has ended.')
    const principal = principalOf(await userOf(claims.userId))
    return remember(token, {
      identity: { principal, by: 'token', loginId: claims.loginId, renewedCookie: null },
      until: monotonic() + TRUST_MS,
      expiresAt: claims.expiresAt,
      claims,
    })
  }

  async function identifyService(token: string): Promise<Identity> {
    const at = now()
    const account = await store.accounts.findServiceAccount(sha256(token))
    if (account === null || account.revoked_at !== null)
      throw new AppError('unauthenticated', 'The service-account token is not valid.')
    if (account.expires_at !== null && account.expires_at <= at)
      throw new AppError('token_expired', 'The service-account token has expired.')
    const principal: Principal = {
      kind: 'service_account',
      id: account.id,
      org_id: account.org_id,
      scope: account.scope,
      name: account.name,
    }
    return remember(token, {
      identity: { principal, by: 'service_account', loginId: null, renewedCookie: null },
      until: monotonic() + TRUST_MS,
      expiresAt: account.expires_at ?? Infinity,
      claims: null,
    })
  }

  async function identifyCookie(cookie: string): Promise<Identity> {
    const { login, extended } = await findCookieLogin({ store, now }, cookie)
    const identity: Identity = {
      principal: principalOf(await userOf(login.user_id)),
      by: 'cookie',
      loginId: login.id,
      renewedCookie: null,
    }
    remember(`cookie ${cookie}`, {
      identity,
      until: monotonic() + TRUST_MS,
      expiresAt: login.expires_at,
      claims: null,
    })
    return extended ? { ...identity, renewedCookie: cookie } : identity
  }

  return {
    identify(req) {
      const { authorization } = req.headers
      if (authorization !== undefined) {
        const token = bearerOf(authorization)
        const entry = remembered.get(token)
        if (entry !== undefined && isGood(entry)) return entry.identity
        if (token.startsWith(SERVICE_TOKEN_PREFIX)) return identifyService(token)
        return identifyUser(token, entry !== undefined && entry.expiresAt > now() ? entry.claims : null)
      }
      const cookie = readCookie(req)
      if (cookie === null || cookie === '')
        throw new AppError('unauthenticated', 'Send a token: Authorization: Bearer ….')
      checkCsrf(req)
      const entry = remembered.get(`cookie ${cookie}`)
      return entry !== undefined && isGood(entry) ? entry.identity : identifyCookie(cookie)
    },
    forget() {
      for (const entry of remembered.values()) entry.until = -Infinity
    },
    async isStanding({ principal, loginId }) {
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
      const login = loginId === null ? null : await store.accounts.getLogin(loginId)
      return loginId === null || (login !== null && login.revoked_at === null)
    },
  }
}

function bearerOf(header: string): string {
  if (header.length > 8192 || header.slice(0, 7).toLowerCase() !== 'bearer ')
    throw new AppError('unauthenticated', 'The Authorization header must read: Bearer <token>.')
  return header.slice(7).trim()
}

export const principalOf = (user: UserRow): Principal => ({
  kind: 'user',
  id: user.id,
  org_id: user.org_id,
  admin: user.admin,
  name: user.name,
  email: user.email,
})
