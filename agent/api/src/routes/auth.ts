/** Login and logout (contract 5). */
import { type AnswerOf, AppError, type Principal, tooManyRequests } from '@cairn/protocol'
import type { UserRow } from '@cairn/log'
import { changePreferences as change, readPreferences } from '@cairn/sessions'
import { COOKIE, cookieLine, readCookie } from '../auth/cookies.ts'
import { issueTokens, refreshLogin, startLogin } from '../auth/logins.ts'
import { checkPassword, hashPassword } from '../auth/passwords.ts'
import { sha256 } from '../auth/secrets.ts'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import type { Exchange } from '../http/exchange.ts'
import { networkOf } from '../client-address.ts'

export const login: Handler<'login'> = async ({ services, body, exchange }) => {
  const isLink = 'link_token' in body
  const user = isLink
    ? await byLink(services, body.link_token)
    : await byPassword(services, body, clientOf(services, exchange))
  if (user === null)
    throw new AppError(
      'unauthenticated',
      isLink
        ? 'This login link was used before or has expired: request a new one.'
        : 'Wrong email or password.',
    )
  const { loginId, refresh } = await startLogin(services, user.id)
  if (body.cookie === true) {
    exchange.cookies.push(cookieLine(exchange.req, refresh))
    return {}
  }
  return issueTokens(services, user.id, loginId, refresh)
}

type Credentials = { email: string; password: string }
type Client = { ip: string; isGone: () => boolean }
const clientOf = ({ clientAddress }: Services, { req, res }: Exchange): Client => ({
  ip: clientAddress(req),
  isGone: () => res.destroyed,
})

/** The user with this password; null if it is wrong. Guessing is throttled per email and address. */
async function byPassword(
  { store, throttle, hashQueue }: Services,
  { email, password }: Credentials,
  { ip, isGone }: Client,
): Promise<UserRow | null> {
  const waitMs = throttle.waitMs(email, ip)
  if (waitMs > 0) throw tooManyRequests('Too many failed logins: wait before you try again.', waitMs / 1000)
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
  if (user === null || !isRight || user.disabled_at !== null) return null
  throttle.succeeded(email, ip)
  return user
}

/** The user of an unused login link, otherwise null. Not throttled: 256 random bits cannot be guessed. */
async function byLink({ store, now }: Services, token: string): Promise<UserRow | null> {
  const userId = await store.accounts.useLoginLink(sha256(token), now())
  const user = userId === null ? null : await store.accounts.getUser(userId)
  return user === null || user.disabled_at !== null ? null : user
}

/**
 * Uses the token in the body. Without one, a cookie login is confirmed and extended, and no token leaves the
 * cookie jar.
 */
export const refresh: Handler<'refresh'> = async ({ services, body, exchange }) => {
  if (body.refresh_token !== undefined) return refreshLogin(services, body.refresh_token)
  const cookie = readCookie(exchange.req)
  if (cookie === null)
    throw new AppError(
      'unauthenticated',
      `Missing refresh token: send refresh_token in the body, or the cookie ${COOKIE}.`,
    )
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

const invalid = (path: string, message: string): AppError =>
  new AppError('invalid_body', `${path}: ${message}`, { extra: { errors: [{ path, message }] } })

type Proof = { current_password?: string | undefined; link_token?: string | undefined }

/** Throws unless the caller proves to be the user: an access token alone may be stolen. */
async function proveUser(services: Services, user: UserRow, proof: Proof, exchange: Exchange): Promise<void> {
  const { current_password, link_token } = proof
  if (link_token !== undefined) {
    if ((await byLink(services, link_token))?.id === user.id) return
    throw invalid('link_token', 'was used before, has expired, or belongs to another user')
  }
  if (current_password === undefined)
    throw invalid(
      'current_password',
      'is required, because you have a password. If you forgot it, send a new link_token',
    )
  const credentials = { email: user.email, password: current_password }
  if ((await byPassword(services, credentials, clientOf(services, exchange))) === null)
    throw invalid('current_password', 'is wrong')
}

/**
 * Another login may be the reason for the change, so every other login ends, and so do unused login links.
 */
export const setPassword: Handler<'setPassword'> = async ({
  services,
  principal,
  identity,
  body,
  exchange,
}) => {
  const { accounts } = services.store
  const user = await accounts.getUser(principal.id)
  if (user !== null && user.password_hash !== null) await proveUser(services, user, body, exchange)
  // Keyed by user, not by address: the caller is already authenticated.
  const hash = await services.hashQueue.run({ address: principal.id, isKnown: true }, () =>
    hashPassword(body.password),
  )
  await accounts.setPassword(principal.id, hash)
  await accounts.revokeLogins(principal.id, services.now(), identity.loginId)
  services.authenticator.forget()
  await services.standing.check()
  return undefined
}

export const me: Handler<'me'> = ({ services, principal }) => viewOf(services, principal)

export const changePreferences: Handler<'changePreferences'> = async ({ services, principal, body }) => {
  await change(services, body, principal)
  return viewOf(services, principal)
}

const viewOf = async (services: Services, principal: Principal): Promise<AnswerOf<'me'>> =>
  principal.kind === 'user'
    ? {
        kind: 'user',
        id: principal.id,
        org_id: principal.org_id,
        name: principal.name,
        email: principal.email,
        admin: principal.admin,
        has_password: ((await services.store.accounts.getUser(principal.id))?.password_hash ?? null) !== null,
        ...(await readPreferences(services, principal)),
      }
    : {
        kind: 'service_account',
        id: principal.id,
        org_id: principal.org_id,
        name: principal.name,
        email: null,
        admin: false,
      }
