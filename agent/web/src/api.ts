/** The API client of the UI: same origin, cookie session, renewed once after a 401 (contract 5). */
import type { ClientOptions } from '@cairn/client'
import { ApiError, ConnectionError, createUncheckedClient } from '@cairn/client/unchecked'
import { errorsWords } from './words/errors.ts'

const shared = { baseUrl: '', credentials: 'same-origin', headers: { 'x-cairn-csrf': '1' } } as const
/**
 * Never renews the session: for the login, where a 401 means a wrong password, and for the renewal itself.
 */
export const unrenewed = createUncheckedClient(shared)

/** Sends cookies; renews the session if the server rejects it. */
export const renewed: ClientOptions = {
  ...shared,
  refresh: async () => {
    try {
      await unrenewed.call('refresh', { body: {} })
    } catch (error) {
      // The first request is sent again, and its 401 leads to the login page.
      if (!isUnauthenticated(error)) throw error
    }
  },
}

export const client = createUncheckedClient(renewed)

export const isUnauthenticated = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 401
export const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404
export const isRetryable = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && error.retryable)

/** Browsers and the bundler each have their own message for this. */
const isNotLoaded = (message: string): boolean =>
  /preload CSS|dynamically imported module|Importing a module script failed/i.test(message)

/** The message of an error that the UI shows. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError) {
    const { detail, errors = [] } = error.problem
    const fields = errors
      .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
      .join('; ')
    return fields === '' || detail.includes(fields) ? detail : `${detail} (${fields})`
  }
  if (error instanceof ConnectionError) return errorsWords.noServer
  const message = error instanceof Error ? error.message : String(error)
  return isNotLoaded(message) ? errorsWords.partNotLoaded : message
}
