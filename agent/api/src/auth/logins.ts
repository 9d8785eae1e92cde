/**
 * Logins: the record behind every user token, and what revoking it ends.
 *
 * A refresh token is `cairn_rt_<login id>.<secret>`; the store holds the hash of the current secret. Using
 * the token replaces it. A token that was replaced before has probably been stolen, so it ends the login.
 * Access tokens contain login ids, so a made-up secret must not end a login: each secret carries a mark that
 * only this server can make, which also means that replaced secrets need not be stored. The cookie of the web
 * UI has the same form but is not rotated: it never leaves the browser's HttpOnly cookie jar, and two tabs
 * must not race for it.
 */
import type { LogStore, LoginRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { isMarked, markedSecret, sameHash, sha256 } from './secrets.ts'
import type { SigningKey } from './signing-key.ts'
import { ACCESS_TTL_S, signUserToken } from './user-tokens.ts'

export const LOGIN_TTL_MS = 7 * 24 * 60 * 60 * 1000
/** A cookie login with less time left than this is extended when it is used. */
const EXTEND_BELOW_MS = 6 * 24 * 60 * 60 * 1000

/** Makes a refresh token recognisable wherever it leaks (log/src/engine/redact/secret-prefixes.ts). */
const REFRESH_PREFIX = 'cairn_rt_'
const refreshToken = (loginId: string, secret: string): string => `${REFRESH_PREFIX}${loginId}.${secret}`

export type LoginDeps = { store: LogStore; key: SigningKey; now: () => number; newId: () => string }
export type Tokens = { access_token: string; refresh_token: string; token_type: 'bearer'; expires_in: number }

/** Starts a login. `refresh` is returned to the caller or set as cookie, and stored nowhere. */
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

/** Tokens of older releases have no prefix and stay valid until they expire. */
function split(token: string): { loginId: string; secret: string; hash: string } {
  const refresh = token.startsWith(REFRESH_PREFIX) ? token.slice(REFRESH_PREFIX.length) : token
  const dot = refresh.lastIndexOf('.')
  if (dot <= 0 || refresh.length > 200) throw new AppError('unauthenticated', 'Invalid refresh token.')
  const secret = refresh.slice(dot + 1)
  return { loginId: refresh.slice(0, dot), secret, hash: sha256(secret) }
}

const isLive = (login: LoginRow | null, now: number): login is LoginRow =>
  login !== null && login.revoked_at === null && login.expires_at > now

/** Exchanges a refresh token for new tokens; the old one becomes invalid. */
export async function refreshLogin(deps: LoginDeps, refresh: string): Promise<Tokens> {
  const { store, key, now } = deps
  const { loginId, secret: given, hash } = split(refresh)
  const login = await store.accounts.getLogin(loginId)
  if (!isLive(login, now())) throw new AppError('unauthenticated', 'This login has ended: log in again.')
  const user = await store.accounts.getUser(login.user_id)
  if (user === null || user.disabled_at !== null)
    throw new AppError('unauthenticated', 'This login has ended: log in again.')
  const secret = markedSecret(key.refreshKey, loginId)
  if (!(await store.accounts.rotateLogin(loginId, hash, sha256(secret), now() + LOGIN_TTL_MS))) {
    if (!isMarked(key.refreshKey, loginId, given))
      throw new AppError('unauthenticated', 'Invalid refresh token.')
    await store.accounts.revokeLogin(loginId, now())
    throw new AppError(
      'unauthenticated',
      'This refresh token was used before, so the login was ended. Log in again.',
    )
  }
  return issueTokens(deps, user.id, loginId, refreshToken(loginId, secret))
}

/** The login behind a cookie, extended when it is about to expire; `extended` asks for a new Max-Age. */
export async function findCookieLogin(
  { store, now }: Pick<LoginDeps, 'store' | 'now'>,
  cookie: string,
): Promise<{ login: LoginRow; extended: boolean }> {
  const { loginId, hash } = split(cookie)
  const login = await store.accounts.getLogin(loginId)
  if (!isLive(login, now()) || !sameHash(login.refresh_sha256, hash))
    throw new AppError('unauthenticated', 'This login has ended: log in again.')
  if (login.expires_at - now() > EXTEND_BELOW_MS) return { login, extended: false }
  return { login, extended: await store.accounts.rotateLogin(loginId, hash, hash, now() + LOGIN_TTL_MS) }
}

/** True if the login is neither revoked nor expired. */
export const loginIsLive = async (store: LogStore, loginId: string, now: number): Promise<boolean> =>
  isLive(await store.accounts.getLogin(loginId), now)
