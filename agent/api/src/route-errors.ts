/** Which errors a route may answer. */
import { type ErrorCode, type Route, type RouteName, ROUTES } from '@cairn/protocol'

/** Beside those that every route may. */
export function errorsOf(name: RouteName): ErrorCode[] {
  const route: Route = ROUTES[name]
  const codes: ErrorCode[] = ['bad_request', 'rate_limited', 'internal']
  if (route.access !== 'public') codes.push('unauthenticated', 'token_expired')
  if (name === 'pollEvents') codes.push('user_token_required')
  if (route.access !== 'public') codes.push('service_account_route')
  if (route.access === 'admin') codes.push('forbidden')
  if (route.path.includes('{')) codes.push('not_found')
  if (route.path.includes('/events') && route.method === 'GET') codes.push('invalid_cursor')
  if (route.body) codes.push('invalid_body', 'body_too_large', 'unsupported_media_type')
  if (route.creates) codes.push('idempotency_mismatch', 'idempotency_in_progress')
  if (route.method !== 'GET' && route.path.includes('{id}')) codes.push('wrong_state')
  if (name === 'answerQuestion' || name === 'respondInbox' || name === 'ackInboxItem')
    codes.push('already_answered')
  if (
    name === 'giveFeedback' ||
    name === 'respondInbox' ||
    name === 'ackInboxItem' ||
    name === 'workspaceFile'
  )
    codes.push('wrong_target')
  if (name === 'createSession') codes.push('unknown_agent')
  return codes
}
