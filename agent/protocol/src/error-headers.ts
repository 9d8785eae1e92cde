/** Errors whose answer has headers of its own. */
import { AppError, type ErrorCode } from './errors.ts'

/** Headers that come with an error: Retry-After, Allow. They travel beside the document, not in it. */
export const HEADERS = Symbol('headers')

/** An AppError with headers of its answer. */
export function errorWithHeaders(
  code: ErrorCode,
  detail: string,
  headers: Record<string, string>,
  extra: Record<string, unknown> = {},
): AppError {
  return new AppError(code, detail, { extra: { ...extra, [HEADERS]: headers } })
}

export const tooManyRequests = (detail: string, retryAfterS: number): AppError =>
  errorWithHeaders('rate_limited', detail, { 'retry-after': String(Math.max(1, Math.ceil(retryAfterS))) })
