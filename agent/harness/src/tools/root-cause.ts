/** The innermost reason of an error: undici's outer error says only "fetch failed". */
import { asError } from '@cairn/protocol'

export function rootCause(thrown: unknown): Error {
  const error = asError(thrown)
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0])
  return error.cause instanceof Error ? rootCause(error.cause) : error
}
