/** The cookie of the web UI and its CSRF protection. */
import type { IncomingMessage } from 'node:http'
import { AppError } from '@cairn/protocol'
import { LOGIN_TTL_MS } from './logins.ts'

export const COOKIE = 'cairn_session'
const CSRF_HEADER = 'x-cairn-csrf'

export function readCookie(req: IncomingMessage): string | null {
  const header = req.headers.cookie
  if (header === undefined) return null
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0 && part.slice(0, equals).trim() === COOKIE) return part.slice(equals + 1).trim()
  }
  return null
}

/**
 * Set-Cookie line; null clears the cookie. Secure if the request arrived by https, through a proxy or not.
 */
export function cookieLine(req: IncomingMessage, value: string | null): string {
  const isSecure = 'encrypted' in req.socket || req.headers['x-forwarded-proto'] === 'https'
  const age = value === null ? 0 : Math.floor(LOGIN_TTL_MS / 1000)
  return (
    `${COOKIE}=${value ?? ''}; Path=/; Max-Age=${age}; HttpOnly; ` +
    `SameSite=Strict${isSecure ? '; Secure' : ''}`
  )
}

/**
 * A write authenticated by cookie must carry our header, which another site cannot add, and must not name
 * another origin.
 */
export function checkCsrf(req: IncomingMessage): void {
  if (req.method === 'GET' || req.method === 'HEAD') return
  if (req.headers[CSRF_HEADER] !== '1')
    throw new AppError(
      'csrf',
      `Missing header ${CSRF_HEADER}: 1: a write request that uses the session cookie needs it.`,
    )
  const { origin, host } = req.headers
  if (origin !== undefined && hostOf(origin) !== host)
    throw new AppError('csrf', 'The Origin header of the request names another site.')
}

const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host : null)
