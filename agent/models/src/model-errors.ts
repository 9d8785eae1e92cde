/**
 * The meaning of a failed call: one table from the server's error to a ModelError, for all protocols
 * (contract 7).
 */
import { asError } from '@cairn/protocol'
import { A_PAGE, type ErrorBody } from './error-body.ts'
import { ModelError, type ModelErrorCategory } from './provider.ts'
import { isOverflow, isUnexplained, mustShrink } from './refusal-meaning.ts'

/** A failure as reported by the server; `status` is absent if it came inside a started answer. */
export type ServerFailure = Pick<ErrorBody, 'kinds' | 'message'> &
  Partial<Pick<ErrorBody, 'param' | 'retryAfterMs'>> & {
    status?: number
    headers?: Headers
    cause?: unknown
  }

/** The caller, for the message, and the secrets to remove from it. */
export type CallSite = {
  provider: string
  model: string
  baseUrl: string
  secrets: readonly string[]
  now: () => number
}

type Meaning = { category: ModelErrorCategory; retryable: boolean; unexplained?: boolean }

/** Waiting does not help: the account has no credit. */
const QUOTA_KINDS = new Set([
  'insufficient_quota',
  'exceeded_current_quota_error',
  'insufficient_balance',
  'billing_error',
  'billing_hard_limit_reached',
  'billing_not_active',
  'Arrearage',
])
/** Google answers 400 to an invalid key. */
const KEY_KINDS = new Set(['API_KEY_INVALID', 'invalid_api_key', 'InvalidApiKey'])

const KINDS: Record<string, Meaning> = {
  overloaded_error: { category: 'provider_error', retryable: true },
  api_error: { category: 'provider_error', retryable: true },
  server_error: { category: 'provider_error', retryable: true },
  UNAVAILABLE: { category: 'provider_error', retryable: true },
  INTERNAL: { category: 'provider_error', retryable: true },
  timeout_error: { category: 'timeout', retryable: true },
  DEADLINE_EXCEEDED: { category: 'timeout', retryable: true },
  rate_limit_error: { category: 'rate_limit', retryable: true },
  rate_limit_exceeded: { category: 'rate_limit', retryable: true },
  RESOURCE_EXHAUSTED: { category: 'rate_limit', retryable: true },
  throttlingException: { category: 'rate_limit', retryable: true },
  ThrottlingException: { category: 'rate_limit', retryable: true },
  authentication_error: { category: 'auth_failed', retryable: false },
  permission_error: { category: 'auth_failed', retryable: false },
  invalid_api_key: { category: 'auth_failed', retryable: false },
  not_found_error: { category: 'configuration', retryable: false },
  model_not_found: { category: 'configuration', retryable: false },
  invalid_request_error: { category: 'provider_error', retryable: false },
  INVALID_ARGUMENT: { category: 'provider_error', retryable: false },
}

const STATUSES: Record<number, Meaning> = {
  401: { category: 'auth_failed', retryable: false },
  402: { category: 'rate_limit', retryable: false },
  403: { category: 'auth_failed', retryable: false },
  404: { category: 'configuration', retryable: false },
  408: { category: 'timeout', retryable: true },
  409: { category: 'provider_error', retryable: true },
  413: { category: 'context_overflow', retryable: false },
  425: { category: 'provider_error', retryable: true },
  429: { category: 'rate_limit', retryable: true },
}
/** Statuses of a refusal whose meaning is another one, whatever its text says. */
const CLEAR_STATUSES = new Set([401, 402, 403, 404, 408, 409, 425, 429, 503, 504, 529])
/** Statuses of a request that the server does not accept as it is. */
const REFUSED_STATUSES = new Set([400, 413, 422])

function meaningOf(failure: ServerFailure): Meaning {
  const { kinds } = failure
  // An error inside a response stream has no HTTP status; some servers send it as a number.
  const status = failure.status ?? kinds.map(Number).find(kind => kind >= 400 && kind < 600)
  if (kinds.some(kind => QUOTA_KINDS.has(kind))) return { category: 'rate_limit', retryable: false }
  if (kinds.some(kind => KEY_KINDS.has(kind))) return { category: 'auth_failed', retryable: false }
  const overflow: Meaning = { category: 'context_overflow', retryable: false }
  if (status === 429 && mustShrink(failure)) return overflow
  if (!(status !== undefined && CLEAR_STATUSES.has(status)) && isOverflow(failure)) return overflow
  const known =
    status === undefined
      ? kinds.map(kind => KINDS[kind]).find(meaning => meaning !== undefined)
      : (STATUSES[status] ?? { category: 'provider_error', retryable: status >= 500 })
  const meaning = known ?? { category: 'provider_error', retryable: true }
  const isRefusal = status === undefined ? known?.retryable === false : REFUSED_STATUSES.has(status)
  return meaning.category === 'provider_error' && isRefusal && isUnexplained(failure)
    ? { ...meaning, unexplained: true }
    : meaning
}

/** What the person can check. */
const HINTS: Partial<Record<ModelErrorCategory, string>> = {
  auth_failed: ' (check the API key)',
  configuration: ' (check the model name and base_url)',
}

/** Converts the server's error to the error that the turn handles. */
export function fromServer(failure: ServerFailure, site: CallSite): ModelError {
  const { status, kinds, message, param = null, headers } = failure
  const { category, retryable, unexplained = false } = meaningOf(failure)
  const hint = message.startsWith(A_PAGE)
    ? ` (something else answered than the model server: check base_url ${site.baseUrl} and the proxies before it)`
    : category === 'rate_limit' && !retryable
      ? ' (check the credit and the limits of the account)'
      : (HINTS[category] ?? '')
  const headerWaitMs = headers ? retryAfterMs(headers, site.now()) : null
  return new ModelError(
    category,
    say(site, `${status ?? 'mid-answer'}: ${message === '' ? 'no reason given' : message}${hint}`),
    {
      retryable,
      unexplained,
      refusal: { kinds, message, param },
      retryAfterMs: headerWaitMs ?? failure.retryAfterMs ?? null,
      cause: failure.cause,
    },
  )
}

const CERTIFICATE = /^(CERT_|ERR_TLS|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_(GET|VERIFY))/

/** The connection failed or broke: no answer, or a partial one. */
export function fromConnection(thrown: unknown, site: CallSite): ModelError {
  const code = errorCodes(thrown).find(found => found !== 'UND_ERR_SOCKET') ?? errorCodes(thrown)[0]
  if (code !== undefined && CERTIFICATE.test(code)) {
    return new ModelError('configuration', say(site, `the server's certificate was refused (${code})`), {
      retryable: false,
      cause: thrown,
    })
  }
  return new ModelError(
    'network',
    say(site, `the connection failed: ${rootMessage(thrown)}${code ? ` (${code})` : ''}`),
    { retryable: true, cause: thrown },
  )
}

/** The server's answer violates its protocol; a retry may help. */
export const invalidAnswer = (site: CallSite, what: string, cause?: unknown): ModelError =>
  new ModelError('invalid_response', say(site, what), { retryable: true, cause })

/** Our sentence about this call, without secrets and of limited length. */
export function say(site: CallSite, what: string): string {
  let clean = what
  for (const secret of site.secrets) if (secret !== '') clean = clean.replaceAll(secret, '***')
  return `[${site.provider}/${site.model}] ${clean.length > 600 ? `${clean.slice(0, 600)}…` : clean}`
}

/**
 * Retry-After in milliseconds: `retry-after-ms`, seconds, or an HTTP date relative to `nowMs`; null if absent
 * or invalid.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const exact = headers.get('retry-after-ms')
  if (exact !== null && /^\d+(\.\d+)?$/.test(exact.trim())) return Math.round(Number(exact))
  const header = headers.get('retry-after')?.trim()
  if (!header) return null
  if (/^\d+(\.\d+)?$/.test(header)) return Math.round(Number(header) * 1000)
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

function causes(thrown: unknown): Error[] {
  const chain = [asError(thrown)]
  for (let cause = chain[0]?.cause; cause instanceof Error && chain.length < 6; cause = cause.cause)
    chain.push(cause)
  return chain
}

const errorCodes = (thrown: unknown): string[] =>
  causes(thrown).flatMap(error => ('code' in error && typeof error.code === 'string' ? [error.code] : []))

/** The innermost cause has the reason ("other side closed"); outer ones are generic. */
const rootMessage = (thrown: unknown): string =>
  causes(thrown).findLast(error => error.message !== '')?.message ?? 'no reason given'
