/**
 * Logins: what stands behind every user token, and what revoking one ends.
 *
 * A refresh token is `cairn_rt_<login id>.<secret>`; the store has the hash of the secret that is good now.
 * Using it replaces it. One that was replaced before comes from a thief or is a sign of one, so it ends the
 * login. Ids of logins stand in access tokens: a secret that was never handed out must end nothing, so each
 * carries our mark, and the older ones need not be kept to be known again. The cookie of the web UI has the
 * same form but is not replaced: it never leaves the browser's HttpOnly jar, and two tabs must not race for
 * it.
 */
import type { LogStore, LoginRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { isMarked, markedSecret, sameHash, sha256 } from './secrets.ts'
import type { SigningKey } from './signing-key.ts'
import { ACCESS_TTL_S, signUserToken } from './user-tokens.ts'

export const LOGIN_TTL_MS = 7 * 24 * 60 * 60 * 1000
/** A cookie login that has less than this left is extended when it is used. */
const EXTEND_BELOW_MS = 6 * 24 * 60 * 60 * 1000

/** Tells a refresh token by its looks, wherever one turns up (log/src/redact/secret-prefixes.ts). */
const REFRESH_PREFIX = 'cairn_rt_'
const refreshToken = (loginId: string, secret: string): string => `${REFRESH_PREFIX}${loginId}.${secret}`

export type LoginDeps = { store: LogStore; key: SigningKey; now: () => number; newId: () => string }
export type Tokens = { access_token: string; refresh_token: string; token_type: 'bearer'; expires_in: number }

/** Starts a login; `refresh` is shown to the caller or put into the cookie, and stored nowhere. */
export async function startLogin(
  { store, key, now, newId }: LoginDeps,
  userId: string,
  ttlMs = LOGIN_TTL_MS,
): Promise<{ loginId: string; refresh: string }> {
  const id = newId()
  const secret = markedSecret(key.refreshKey, id)
  const login = await store.accounts.createLogin({
    id,
    user_id: userId,
    refresh_sha256: sha256(secret),
    expires_at: now() + ttlMs,
  })
  return { loginId: login.id, refresh: refreshToken(login.id, secret) }
}

export async function issueTokens(
  { key, now }: LoginDeps,
  userId: string,
  loginId: string,
  refresh: string,
): Promise<Tokens> {
  return {
    access_token: await signUserToken(key, { userId, loginId, now: now() }),
    refresh_token: refresh,
    token_type: 'bearer',
    expires_in: ACCESS_TTL_S,
  }
}

/** Tokens of older releases have no prefix, and are good until they end. */
function split(token: string): { loginId: string; secret: string; hash: string } {
  const refresh = token.startsWith(REFRESH_PREFIX) ? token.slice(REFRESH_PREFIX.length) : token
  const dot = refresh.lastIndexOf('.')
  if (dot <= 0 || refresh.length > 200)
    throw new AppError('unauthenticated', 'The refresh token is not valid.')
  const secret = refresh.slice(dot + 1)
  return { loginId: refresh.slice(0, dot), secret, hash: sha256(secret) }
}

const isLive = (login: LoginRow | null, now: number): login is LoginRow =>
  login !== null && login.revoked_at === null && login.expires_at > now

/** New tokens for a refresh token, which is worth nothing afterwards. */
export async function refreshLogin(deps: LoginDeps, refresh: string): Promise<Tokens> {
  const { store, key, now } = deps
  const { loginId, secret: given, hash } = split(refresh)
  const login = await store.accounts.getLogin(loginId)
  if (!isLive(login, now())) throw new AppError('unauthenticated', 'The login has ended; log in again.')
  const user = await store.accounts.getUser(login.user_id)
  if (user === null || user.disabled_at !== null)
    throw new AppError('unauthenticated', 'The login has ended; log in again.')
  const secret = markedSecret(key.refreshKey, loginId)
  if (!(await store.accounts.rotateLogin(loginId, hash, sha256(secret), now() + LOGIN_TTL_MS))) {
    if (!isMarked(key.refreshKey, loginId, given))
      throw new AppError('unauthenticated', 'The refresh token is not valid.')
    await store.accounts.revokeLogin(loginId, now())
    throw new AppError(
      'unauthenticated',
      'The refresh token was used before; this login has been ended. Log in again.',
    )
  }
  return issueTokens(deps, user.id, loginId, refreshToken(loginId, secret))
}

/** The login behind a cookie, extended when its end comes near; `extended` asks for a new Max-Age. */
export async function findCookieLogin(
  { store, now }: Pick<LoginDeps, 'store' | 'now'>,
  cookie: string,
): Promise<{ login: LoginRow; extended: boolean }> {
  const { loginId, hash } = split(cookie)
  const login = await store.accounts.getLogin(loginId)
  if (!isLive(login, now()) || !sameHash(login.refresh_sha256, hash))
    throw new AppError('unauthenticated', 'The login has ended; log in again.')
  if (login.expires_at - now() > EXTEND_BELOW_MS) return { login, extended: false }
  return { login, extended: await store.accounts.rotateLogin(loginId, hash, hash, now() + LOGIN_TTL_MS) }
}

/** Whether a login may still be used. */
export const loginIsLive = async (store: LogStore, loginId: string, now: number): Promise<boolean> =>
  isLive(await store.accounts.getLogin(loginId), now)
