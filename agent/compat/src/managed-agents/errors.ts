/** Errors in the shape of Anthropic's API. Its clients repeat some statuses unless a header says otherwise. */
import { AppError, HEADERS } from '@cairn/protocol'

/** A field or an event that the API has and Cairn has not. */
export const unsupported = (name: string, why: string): AppError =>
  new AppError('unsupported', `${name}: not supported. ${why}`)

export const notFound = (what: string, id: string): AppError =>
  new AppError('not_found', `${what} '${id.slice(0, 100)}' not found.`)

export function anthropicError(error: AppError, requestId: string): Response {
  const { status, message, extra } = error
  const headers = (extra as Record<symbol, unknown>)[HEADERS]
  return Response.json(
    { type: 'error', error: { type: typeOf(status), message }, request_id: requestId },
    {
      status,
      headers: {
        'cache-control': 'no-store',
        'request-id': requestId,
        'x-should-retry': String(error.retryable),
        ...(headers as Record<string, string> | undefined),
      },
    },
  )
}

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}
const typeOf = (status: number): string =>
  TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
