/** Errors whose response carries extra headers. */
import { AppError, type ErrorCode } from './errors.ts'

/** Response headers of an error, such as Retry-After and Allow. They are not part of the problem document. */
export const HEADERS = Symbol('headers')

/** Creates an AppError with response headers. */
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
