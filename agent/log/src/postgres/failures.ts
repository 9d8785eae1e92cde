/** Classifies failed statements: the connection, the server's storage, or the statement itself. */
import { AppError, asError } from '@cairn/protocol'

/** SQLSTATE; only set by the server. */
const stateOf = (error: unknown): string | null =>
  error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null

/** The server ends the connection with these: shutdown, crash, startup, idle timeouts. */
const ENDS_SESSION = new Set(['57P01', '57P02', '57P03', '57P04', '57P05', '25P03', '25P04'])

/**
 * A newer program has added a column to a table that a prepared statement reads completely. The statement did
 * not run, and this connection cannot run it again.
 */
export const isStale = (error: unknown): boolean =>
  stateOf(error) === '0A000' && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery'

/**
 * The connection is lost, stale or was never established: no further response can be attributed to a request.
 */
export function isLost(error: unknown): boolean {
  const state = stateOf(error)
  if (isStale(error)) return true
  if (state !== null) return ENDS_SESSION.has(state) || state.startsWith('08')
  const { code, message } = asError(error) as NodeJS.ErrnoException
  return (
    (code !== undefined && /^E[A-Z]+$/.test(code)) ||
    /connection (?:terminated|error)|timeout|not queryable|client was closed|connection ended/i.test(message)
  )
}

/** Keys that processes make and not the database, so two processes may make the same one. */
const MADE_KEYS = new Set(['inbox_items_org_key_seq_key', 'missions_org_key_key_key'])

/** Another process made the same key at the same moment. */
export const isKeyTaken = (error: unknown): boolean =>
  stateOf(error) === '23505' && MADE_KEYS.has(String((error as { constraint?: unknown }).constraint))

/** Two transactions conflicted; a retry may succeed. */
export const isCollision = (error: unknown): boolean =>
  ['40001', '40P01'].includes(stateOf(error) ?? '') || isKeyTaken(error)

/** Disk full, out of connections, corruption, read-only, or a timeout. The request was valid. */
const isStorageFailure = (error: unknown): boolean =>
  /^(?:53|58|XX|25006|57014|55P03)/.test(stateOf(error) ?? '')

/** Maps to an error of the service: an outage becomes retryable; other errors are returned unchanged. */
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
