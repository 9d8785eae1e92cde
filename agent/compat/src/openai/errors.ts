/** Errors in the shape of OpenAI's API. Its clients repeat some statuses unless a header says otherwise. */
import { AppError, HEADERS } from '@cairn/protocol'

/** A parameter that the API has and Cairn has not. */
export const unsupported = (param: string, why: string): AppError =>
  new AppError('unsupported', `Unsupported parameter: '${param}'. ${why}`, {
    extra: { param, openai_code: 'unsupported_parameter' },
  })

export const notFound = (what: string, id: string): AppError =>
  new AppError('not_found', `${what} with id '${id.slice(0, 100)}' not found.`)

export function openaiError(error: AppError, requestId: string): Response {
  const { status, code, message, extra } = error
  const { [HEADERS]: headers, param, openai_code } = extra as Record<string | symbol, unknown>
  return Response.json(
    {
      error: {
        message,
        type: typeOf(status),
        param: typeof param === 'string' ? param : null,
        code: typeof openai_code === 'string' ? openai_code : code,
      },
    },
    {
      status,
      headers: {
        'cache-control': 'no-store',
        'x-request-id': requestId,
        'x-should-retry': String(error.retryable),
        ...(headers as Record<string, string> | undefined),
      },
    },
  )
}

const typeOf = (status: number): string =>
  status === 401
    ? 'authentication_error'
    : status === 403
      ? 'permission_error'
      : status === 429
        ? 'rate_limit_error'
        : status >= 500
          ? 'server_error'
          : 'invalid_request_error'
