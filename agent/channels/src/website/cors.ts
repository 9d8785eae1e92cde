/**
 * CORS for the operator's own chat UI on a page of one of the connection's origins: its script may read the
 * responses. It uses no cookies: it starts with `no_cookies` and sends its token.
 */
import type { Connection } from '../deps.ts'

export function corsHeaders(headers: Headers, connections: Iterable<Connection>): Record<string, string> {
  const origin = headers.get('origin')
  const isNamed = [...connections].some(
    ({ settings }) => settings.platform === 'website' && settings.origins.some(each => each === origin),
  )
  // Set on every response, so that caches keep one entry per origin.
  return {
    vary: 'origin',
    ...(isNamed && origin !== null
      ? { 'access-control-allow-origin': origin, 'access-control-expose-headers': 'retry-after' }
      : {}),
  }
}

/** Answers a preflight request. Without a matching origin in the headers the browser stops here. */
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
