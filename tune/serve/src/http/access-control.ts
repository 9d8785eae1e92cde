/**
 * Access control: API keys, and the browser pages that may send requests. A page of any site can send
 * requests to a server on the user's machine, so a request is rejected by its Origin before it has an effect.
 * It is also rejected by its Host, because a site can let its own name resolve to 127.0.0.1 (DNS rebinding).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../errors.ts'
import { hostnameOf, isLocalName, isLoopback } from './addresses.ts'

export type AccessControlOptions = {
  /** Any key grants access to every route. Health routes need none. An empty list disables the check. */
  apiKeys: readonly string[]
  /**
   * Origins whose pages may send requests and read answers; `*` is any. A server on a loopback address also
   * answers to their hosts.
   */
  allowedOrigins: readonly string[]
  /** The address that the server is bound to. */
  address: string
  /** The host name or address that the user gave the server. */
  host: string
}

export type AccessControl = {
  /**
   * Throws 401 for a missing key, and 403 for a page or a host that is not allowed. True if the request was a
   * preflight and has been answered.
   */
  check(request: IncomingMessage, response: ServerResponse, pathname: string): boolean
  /**
   * Whether adapters may be changed over HTTP: by any client of this machine, otherwise by clients with a
   * key.
   */
  readonly mayUpdate: boolean
}

/** Paths that reveal nothing about requests. */
const OPEN_PATHS = new Set(['/health', '/ping', '/version'])

const digest = (text: string) => createHash('sha256').update(text).digest()
const forbidden = (message: string) => new ApiError(403, 'ForbiddenError', message)

export function createAccessControl({
  apiKeys,
  allowedOrigins,
  address,
  host,
}: AccessControlOptions): AccessControl {
  const known = apiKeys.map(digest)
  const allowsAny = allowedOrigins.includes('*')
  const isLocal = isLoopback(address)
  const hosts = new Set(
    [host, ...allowedOrigins.map(origin => origin.replace(/^[a-z]+:\/\//i, ''))].map(hostnameOf),
  )

  /** Compares with every key, so that timing reveals nothing. */
  function hasKey({ headers: { authorization = '' } }: IncomingMessage): boolean {
    const given = digest(/^Bearer (.+)$/i.exec(authorization)?.[1] ?? '')
    return known.map(key => timingSafeEqual(key, given)).includes(true)
  }

  /** HTTP/1.0 has no Host; no browser sends it. */
  function checkHost({ headers: { host: given } }: IncomingMessage): void {
    if (!isLocal || allowsAny || given === undefined) return
    const name = hostnameOf(given)
    if (name !== undefined && (isLocalName(name) || hosts.has(name))) return
    throw forbidden(
      `Host ${JSON.stringify(given)} is not allowed: this server is bound to ${address}. ` +
        'Send requests to localhost, or start the server with --allowed-origins and the origin.',
    )
  }

  function checkOrigin({ headers: { origin, host: own } }: IncomingMessage, response: ServerResponse): void {
    if (allowedOrigins.length > 0) response.setHeader('vary', 'Origin')
    if (origin === undefined) return
    if (allowsAny || allowedOrigins.includes(origin)) {
      response.setHeader('access-control-allow-origin', allowsAny ? '*' : origin)
      return
    }
    if (own !== undefined && [`http://${own}`, `https://${own}`].includes(origin)) return
    throw forbidden(
      `Origin ${JSON.stringify(origin)} is not allowed. ` +
        'Start the server with --allowed-origins and this origin to allow its pages.',
    )
  }

  function isPreflight({ method, headers }: IncomingMessage): boolean {
    return (
      allowedOrigins.length > 0 &&
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined
    )
  }

  return {
    mayUpdate: isLocal || known.length > 0,
    check(request, response, pathname) {
      checkHost(request)
      checkOrigin(request, response)
      if (isPreflight(request)) {
        response
          .writeHead(204, {
            'access-control-allow-methods': 'GET, POST',
            'access-control-allow-headers': 'authorization, content-type',
            'access-control-max-age': '600',
          })
          .end()
        return true
      }
      if (known.length > 0 && !OPEN_PATHS.has(pathname) && !hasKey(request))
        throw new ApiError(
          401,
          'AuthenticationError',
          'Unauthorized: send an API key as Authorization: Bearer KEY.',
        )
      return false
    },
  }
}
