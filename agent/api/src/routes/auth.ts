/** Logging in and out (contract 5). */
import { AppError } from '@cairn/protocol'
import type { UserRow } from '@cairn/log'
import { COOKIE, cookieLine, readCookie } from '../auth/cookies.ts'
import { issueTokens, refreshLogin, startLogin } from '../auth/logins.ts'
import { checkPassword, hashPassword } from '../auth/passwords.ts'
import { sha256 } from '../auth/secrets.ts'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { networkOf } from '../client-address.ts'
import { tooManyRequests } from '../error-headers.ts'

export const login: Handler<'login'> = async ({ services, body, exchange }) => {
  const ip = services.clientAddress(exchange.req)
  const user =
    'link_token' in body
      ? await byLink(services, body.link_token)
      : await byPassword(services, body, { ip, isGone: () => exchange.res.destroyed })
  const { loginId, refresh } = await startLogin(services, user.id)
  if (body.cookie === true) {
    exchange.cookies.push(cookieLine(exchange.req, refresh))
    return {}
  }
  return issueTokens(services, user.id, loginId, refresh)
}

async function byPassword(
  { store, throttle, hashQueue }: Services,
  { email, password }: { email: string; password: string },
  { ip, isGone }: { ip: string; isGone: () => boolean },
): Promise<UserRow> {
  const waitMs = throttle.waitMs(email, ip)
  if (waitMs > 0) throw tooManyRequests('Too many failed logins; wait before the next one.', waitMs / 1000)
  const ticket = { address: networkOf(ip), isKnown: throttle.isKnown(email, ip), isGone }
  throttle.failed(email, ip)
  const user =
    email.length > 320 || password.length > 1000 ? null : await store.accounts.findUserByEmail(email)
  const isRight = await hashQueue
    .run(ticket, () => checkPassword(password.slice(0, 1000), user?.password_hash ?? null))
    .catch((error: unknown) => {
      throttle.takeBack(email, ip)
      throw error
    })
  if (user === null || !isRight || user.disabled_at !== null)
    throw new AppError('unauthenticated', 'The e-mail or the password is wrong.')
  throttle.succeeded(email, ip)
  return user
}

/** Not slowed like a password: 256 random bits are not guessed. */
async function byLink({ store, now }: Services, token: string): Promise<UserRow> {
  const userId = await store.accounts.useLoginLink(sha256(token), now())
  const user = userId === null ? null : await store.accounts.getUser(userId)
  if (user === null || user.disabled_at !== null)
    throw new AppError('unauthenticated', 'The login link was used before or has expired; ask for a new one.')
  return user
}

/**
 * By the token in the body; without one, a cookie login is confirmed and extended, and no token leaves the
 * cookie jar.
 */
export const refresh: Handler<'refresh'> = async ({ services, body, exchange }) => {
  if (body.refresh_token !== undefined) return refreshLogin(services, body.refresh_token)
  const cookie = readCookie(exchange.req)
  if (cookie === null)
    throw new AppError('unauthenticated', `Send refresh_token in the body, or the cookie ${COOKIE}.`)
  await services.authenticator.identify(exchange.req)
  exchange.cookies.push(cookieLine(exchange.req, cookie))
  return {}
}

export const logout: Handler<'logout'> = async ({ services, identity, exchange }) => {
  if (identity.loginId !== null) {
    await services.store.accounts.revokeLogin(identity.loginId, services.now())
    services.authenticator.forget()
    await services.standing.check()
  }
  exchange.cookies.splice(0, Infinity, cookieLine(exchange.req, null))
  return undefined
}

/**
 * Whoever else is logged in may be why it is changed: every other login ends, and so do unused login links.
 */
export const setPassword: Handler<'setPassword'> = async ({ services, principal, identity, body }) => {
  const { accounts } = services.store
  // A place of their own: they are logged in already.
  const hash = await services.hashQueue.run({ address: principal.id, isKnown: true }, () =>
    hashPassword(body.password),
  )
  await accounts.setPassword(principal.id, hash)
  await accounts.revokeLogins(principal.id, services.now(), identity.loginId)
  services.authenticator.forget()
  await services.standing.check()
  return undefined
}

export const me: Handler<'me'> = async ({ services, principal }) =>
  principal.kind === 'user'
    ? {
        kind: 'user',
        id: principal.id,
        org_id: principal.org_id,
        name: principal.name,
        email: principal.email,
        admin: principal.admin,
        has_password: ((await services.store.accounts.getUser(principal.id))?.password_hash ?? null) !== null,
      }
    : {
        kind: 'service_account',
        id: principal.id,
        org_id: principal.org_id,
        name: principal.name,
        email: null,
        admin: false,
      }
