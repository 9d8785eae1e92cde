/** Who may ask: API keys, and which pages of other origins a browser lets read the answers. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../errors.ts'

export type GateOptions = {
  /** Any of them opens every route but those that say that the server is up. None asks for no key. */
  apiKeys: readonly string[]
  /** Origins whose pages may read answers; `*` is any. None sends no header, so browsers keep them apart. */
  allowedOrigins: readonly string[]
}

export type Gate = {
  /** Throws 401 where a key is missing. True where the request is answered: it was a preflight. */
  check(request: IncomingMessage, response: ServerResponse, pathname: string): boolean
}

/** They tell nothing of anyone's requests. */
const OPEN_PATHS = new Set(['/health', '/ping', '/version'])

const digest = (text: string) => createHash('sha256').update(text).digest()

export function createGate({ apiKeys, allowedOrigins }: GateOptions): Gate {
  const known = apiKeys.map(digest)

  /** Every key is compared, so that time tells nothing. */
  function hasKey({ headers: { authorization = '' } }: IncomingMessage): boolean {
    const given = digest(/^Bearer (.+)$/i.exec(authorization)?.[1] ?? '')
    return known.map(key => timingSafeEqual(key, given)).includes(true)
  }

  function allowOrigin({ headers: { origin } }: IncomingMessage, response: ServerResponse): void {
    if (allowedOrigins.length === 0) return
    response.setHeader('vary', 'Origin')
    if (origin === undefined || !(allowedOrigins.includes('*') || allowedOrigins.includes(origin))) return
    response.setHeader('access-control-allow-origin', allowedOrigins.includes('*') ? '*' : origin)
  }

  function isPreflight({ method, headers }: IncomingMessage): boolean {
    return (
      allowedOrigins.length > 0 &&
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined
    )
  }

  return {
    check(request, response, pathname) {
      allowOrigin(request, response)
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
          'Unauthorized: send Authorization: Bearer with an API key.',
        )
      return false
    },
  }
}
