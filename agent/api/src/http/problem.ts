/**
 * Turns any error into an RFC 9457 document. Callers get a code and a sentence; internal details go to the
 * logger only.
 */
import { CommitRefused } from '@cairn/log'
import { AppError, asError, ERRORS, type ErrorCode, HEADERS } from '@cairn/protocol'
import type { Logger } from '../logger.ts'
import { type Exchange, send } from './exchange.ts'
import type { FieldError } from './read-body.ts'

/** Store refusals that no command has mapped to an error. */
const REFUSED: Partial<Record<CommitRefused['refusal'], ErrorCode>> = {
  no_session: 'not_found',
  wrong_status: 'wrong_state',
  already_answered: 'already_answered',
}

function coerce(thrown: unknown): AppError | null {
  if (thrown instanceof AppError) return thrown
  if (!(thrown instanceof CommitRefused)) return null
  const code = REFUSED[thrown.refusal]
  return code === undefined ? null : new AppError(code, `${ERRORS[code].title}.`, { cause: thrown })
}

type Extra = Record<string | symbol, unknown> & { errors?: readonly FieldError[] }

export type Answered = { status: number; code: ErrorCode }

/** The error as a caller may see it; server errors are logged with the request id. */
export function shownError(exchange: Exchange, thrown: unknown, log: Logger): AppError {
  const known = logged(exchange, thrown, log)
  if (known !== null && known.status < 500) return known
  const code = known?.code ?? 'internal'
  return new AppError(code, detailOfOurs(code), { cause: thrown, extra: known?.extra ?? {} })
}

/** Sends the problem document, and logs server errors with the request id. */
export function answerProblem(exchange: Exchange, thrown: unknown, log: Logger): Answered {
  const known = logged(exchange, thrown, log)
  const code = known?.code ?? 'internal'
  const { status } = ERRORS[code]
  const { headers, document } = describe(known, exchange.id)
  send(exchange, status, 'application/problem+json', JSON.stringify(document), {
    'cache-control': 'no-store',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...headers,
  })
  return { status, code }
}

function logged(exchange: Exchange, thrown: unknown, log: Logger): AppError | null {
  const known = coerce(thrown)
  const code = known?.code ?? 'internal'
  const { status } = ERRORS[code]
  if (known === null || status === 500) {
    const error = asError(thrown)
    log.error('request failed', {
      request_id: exchange.id,
      route: exchange.route,
      error: error.message,
      stack: error.stack,
    })
  } else if (status > 500) {
    log.warn('request rejected', {
      request_id: exchange.id,
      route: exchange.route,
      code,
      error: known.message,
    })
  }
  return known
}

/** The problem document and its headers. `null` stands for an internal error. */
function describe(known: AppError | null, requestId: string) {
  const code = known?.code ?? 'internal'
  const { status, title } = ERRORS[code]
  const { [HEADERS]: headers, errors, ...extra } = (known?.extra ?? {}) as Extra
  const detail = known === null || status >= 500 ? detailOfOurs(code) : known.message
  return {
    headers: headers as Record<string, string> | undefined,
    document: {
      type: `urn:cairn:problem:${code}`,
      title,
      status,
      code,
      detail: shortDetail(detail),
      request_id: requestId,
      ...extra,
      ...(errors === undefined ? {} : shortErrors(errors)),
    },
  }
}

/** The problem document of an error inside another response. */
export const problemDocument = (refusal: AppError, requestId: string) => describe(refusal, requestId).document

/** The detail that a caller gets for an internal error. */
const detailOfOurs = (code: ErrorCode): string =>
  (
    ({
      storage: 'The write was not stored: it is safe to retry.',
      draining: 'The server is shutting down: retry in a moment.',
    }) as Partial<Record<ErrorCode, string>>
  )[code] ?? 'Internal error: see the server log for this request_id.'

/** Keeps a problem document small, however much of a request is wrong (contract 4.3). */
const MAX_ERRORS = 20
const MAX_PATH = 200
const MAX_MESSAGE = 300
const MAX_DETAIL = 2_000

const shorten = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)

const shortDetail = (detail: string): string => shorten(detail, MAX_DETAIL)

/** The first errors, and the number of omitted ones. */
function shortErrors(errors: readonly FieldError[]): {
  errors: FieldError[]
  errors_omitted?: number
} {
  const shown = errors.slice(0, MAX_ERRORS).map(({ path, message }) => ({
    path: shorten(path, MAX_PATH),
    message: shorten(message, MAX_MESSAGE),
  }))
  const omitted = errors.length - shown.length
  return { errors: shown, ...(omitted > 0 ? { errors_omitted: omitted } : {}) }
}
