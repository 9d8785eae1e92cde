/**
 * A chat of the operator's own, on a page of an origin that a connection names: its script may read what it
 * is answered. Cookies are not for it: it begins with `no_cookies` and sends its token.
 */
import type { Connection } from '../deps.ts'

export function corsHeaders(headers: Headers, connections: Iterable<Connection>): Record<string, string> {
  const origin = headers.get('origin')
  const isNamed = [...connections].some(
    ({ settings }) => settings.platform === 'website' && settings.origins.some(each => each === origin),
  )
  // Whatever the answer is, a cache keeps it for that origin alone.
  return {
    vary: 'origin',
    ...(isNamed && origin !== null
      ? { 'access-control-allow-origin': origin, 'access-control-expose-headers': 'retry-after' }
      : {}),
  }
}

/** What a browser asks before the request itself. Without the origin in its headers it asks no further. */
export const preflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers':
        'authorization, content-type, idempotency-key, last-event-id, x-cairn-csrf',
      'access-control-max-age': '600',
    },
  })
