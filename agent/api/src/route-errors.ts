/**
 * The errors that a route may return: those of every route of its kind, and its own (`errors` of its row).
 */
import { type ErrorCode, type Route, type RouteName, ROUTES } from '@cairn/protocol'

/** Errors of every route: the server may be at its limit, draining, or without a store. */
const ALWAYS: readonly ErrorCode[] = ['bad_request', 'rate_limited', 'internal', 'storage', 'draining']

export function errorsOf(name: RouteName): ErrorCode[] {
  const route: Route = ROUTES[name]
  const codes: ErrorCode[] = [...ALWAYS, ...(route.errors ?? [])]
  if (route.access !== 'public') codes.push('unauthenticated', 'token_expired', 'service_account_route')
  if (route.access === 'user' || route.access === 'admin') codes.push('user_token_required')
  if (route.access === 'admin') codes.push('forbidden')
  if (route.path.includes('{')) codes.push('not_found')
  if (route.method !== 'GET') {
    // A page of another site must not write with this site's cookie.
    codes.push('csrf', 'body_too_large', 'unsupported_media_type', 'invalid_body')
    if (route.path.includes('{')) codes.push('wrong_state')
  }
  if (route.creates) codes.push('idempotency_mismatch', 'idempotency_in_progress')
  if (route.shownOnce) codes.push('shown_once')
  if (route.stream) codes.push('too_many_streams')
  return codes
}
