/** Classifies an HTTP status if the platform gives no details. */
import type { Failure } from './adapter.ts'

/** 408: the server timed out on the request and may have acted on what it had. */
export function failureOfStatus(status: number): Failure {
  if (status === 503) return 'transient'
  return status >= 500 || status === 408 ? 'unknown' : 'permanent'
}
