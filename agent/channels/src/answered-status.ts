/** What an HTTP status says of a part where the platform says no more. */
import type { Failure } from './adapter.ts'

/** 408: the server waited for the request too long, and may have acted on what it had. */
export function failureOfStatus(status: number): Failure {
  if (status === 503) return 'transient'
  return status >= 500 || status === 408 ? 'unknown' : 'permanent'
}
