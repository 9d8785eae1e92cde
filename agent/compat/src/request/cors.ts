/** CORS for the origins that `compat.origins` lists. Without credentials, so no cookie is used. */
export function corsHeaders(origins: readonly string[], headers: Headers): Record<string, string> {
  const origin = headers.get('origin')
  if (origin === null || !origins.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers':
      headers.get('access-control-request-headers') ?? 'authorization, content-type',
    'access-control-expose-headers': 'x-request-id',
    'access-control-max-age': '600',
    vary: 'origin',
  }
}
