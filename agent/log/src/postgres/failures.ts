/**
 * What a failed statement means for what was asked: the connection, the server's disk, or the statement
 * itself.
 */
import { AppError, asError } from '@cairn/protocol'

/** SQLSTATE, which only the server gives. */
const stateOf = (error: unknown): string | null =>
  error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null

/**
 * The server ends the session with these: shut down, crashed, starting, idle too long in a transaction or at
 * all.
 */
const ENDS_SESSION = new Set(['57P01', '57P02', '57P03', '57P04', '57P05', '25P03', '25P04'])

/** The connection is gone, or never was: nothing the server still says can be trusted to answer us. */
export function isLost(error: unknown): boolean {
  const state = stateOf(error)
  if (state !== null) return ENDS_SESSION.has(state) || state.startsWith('08')
  const { code, message } = asError(error) as NodeJS.ErrnoException
  return (
    (code !== undefined && /^E[A-Z]+$/.test(code)) ||
    /connection (?:terminated|error)|timeout|not queryable|client was closed|connection ended/i.test(message)
  )
}

/** Two transactions met; the same again may go through. */
export const isCollision = (error: unknown): boolean => ['40001', '40P01'].includes(stateOf(error) ?? '')

/**
 * The disk is full, the server is out of connections, broken, or takes reads only; a time limit. The request
 * was not wrong.
 */
const isStorageFailure = (error: unknown): boolean =>
  /^(?:53|58|XX|25006|57014|55P03)/.test(stateOf(error) ?? '')

export const isDuplicate = (error: unknown): boolean => stateOf(error) === '23505'

/**
 * As the rest of the service knows it: an outage is retryable and nobody's fault; everything else stays what
 * it is.
 */
export function asStoreFailure(what: string, error: unknown): Error {
  if (error instanceof AppError) return error
  if (isLost(error))
    return new AppError('storage', `[${what}] the database does not answer: ${asError(error).message}`, {
      cause: error,
    })
  if (isStorageFailure(error))
    return new AppError('storage', `[${what}] the database did not take it: ${asError(error).message}`, {
      cause: error,
    })
  return asError(error)
}
