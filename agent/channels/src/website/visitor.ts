/**
 * Identifies visitors by a random token that only their browser has; the store keeps its hash. A host page
 * that knows its user passes the identity in a JWT that it signed.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ChannelVisitor } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { errors, jwtVerify } from 'jose'

export const VISITOR_TTL_MS = 30 * 24 * 60 * 60_000
/** Maximum lifetime of an identity: the page signs a new one at each visit. */
const MAX_IDENTITY_S = 300
const CSRF_HEADER = 'x-cairn-csrf'
const SCHEME = 'Visitor '

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
export const hashToken = sha256
export const newToken = (): string => randomBytes(32).toString('base64url')
/** Only a page that got the token can compute it. */
export const csrfOf = (token: string): string => sha256(`csrf/${token}`).slice(0, 32)
/** Key of the conversation: an identified visitor has the same one on every device. */
export const visitorKey = ({
  subject,
  token_sha256,
}: Pick<ChannelVisitor, 'subject' | 'token_sha256'>): string =>
  subject === null ? `visitor:${token_sha256}` : `user:${sha256(subject)}`

/** Identifies a visitor in events; it does not grant access. */
export const shortId = ({ token_sha256 }: Pick<ChannelVisitor, 'token_sha256'>): string =>
  token_sha256.slice(0, 16)

const cookieName = (connectionId: string): string => `cairn_visitor_${sha256(connectionId).slice(0, 12)}`

/**
 * SameSite=None, because the frame is on another site's page; Partitioned, so that the cookie is limited to
 * that page.
 */
export const cookieLine = (connectionId: string, token: string): string =>
  `${cookieName(connectionId)}=${token}; Path=/v1/website/; Max-Age=${VISITOR_TTL_MS / 1000}; HttpOnly; ` +
  'Secure; SameSite=None; Partitioned'

/** If cookies are blocked, the frame sends the token itself. */
export function tokenOf(headers: Headers, connectionId: string): string | null {
  const authorization = headers.get('authorization')
  if (authorization?.startsWith(SCHEME)) return authorization.slice(SCHEME.length)
  const name = `${cookieName(connectionId)}=`
  const found = (headers.get('cookie') ?? '').split(/;\s*/).find(part => part.startsWith(name))
  return found?.slice(name.length) ?? null
}

export function checkCsrf(headers: Headers, token: string): void {
  const [given, wanted] = [Buffer.from(headers.get(CSRF_HEADER) ?? ''), Buffer.from(csrfOf(token))]
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new AppError(
      'csrf',
      `Missing header ${CSRF_HEADER}: a write request needs the token of this conversation.`,
    )
}

/** The frame's own page, or one of the connection's origins. */
export function checkOrigin(headers: Headers, origins: readonly string[]): void {
  const origin = headers.get('origin')
  const own = origin !== null && URL.canParse(origin) && new URL(origin).host === headers.get('host')
  if (origin === null || !(own || origins.includes(origin)))
    throw new AppError(
      'origin_not_allowed',
      `${origin ?? 'A request without Origin'} is not allowed to write here: add it to the ` +
        'allowed origins of the channel.',
    )
}

export type Known = { subject: string; name: string | null }
export async function verifyIdentity(jwt: string, secret: string | null, now: number): Promise<Known> {
  if (secret === null)
    throw new AppError(
      'unauthenticated',
      'This website does not accept identities: identity_secret_env is not set.',
    )
  try {
    const { payload } = await jwtVerify(jwt, new TextEncoder().encode(secret), {
      algorithms: ['HS256'],
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(now),
    })
    const { sub, exp = 0, name } = payload as { sub?: unknown; exp?: number; name?: unknown }
    if (exp - now / 1000 > MAX_IDENTITY_S)
      throw new AppError(
        'unauthenticated',
        `The identity token is valid for more than ${MAX_IDENTITY_S} s: sign a new one with a ` +
          'shorter lifetime.',
      )
    if (typeof sub !== 'string' || sub === '' || sub.length > 200)
      throw new AppError('unauthenticated', 'Invalid sub: must be a string of 1 to 200 characters.')
    return { subject: sub, name: typeof name === 'string' ? name.slice(0, 200) : null }
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    throw new AppError('unauthenticated', `Invalid identity token: ${error.code}.`, { cause: error })
  }
}
