/**
 * The meaning of a failed call: one table from the server's error to a ModelError, for all protocols
 * (contract 7).
 */
import { asError } from '@cairn/protocol'
import { ModelError, type ModelErrorCategory } from './provider.ts'

/** A failure as reported by the server; `status` is absent if it came inside a started answer. */
export type ServerFailure = {
  status?: number
  /** The server's names of the error: OpenAI's `code` and `type`, Anthropic's `error.type`. */
  kinds: readonly string[]
  message: string
  headers?: Headers
  cause?: unknown
}

/** The caller, for the message, and the secrets to remove from it. */
export type CallSite = { provider: string; model: string; secrets: readonly string[]; now: () => number }

type Meaning = { category: ModelErrorCategory; retryable: boolean }

const OVERFLOW_KINDS = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'request_too_large',
  'string_above_max_length',
])
const OVERFLOW_WORDS =
  /context (length|window|size)|maximum (context|prompt) length|prompt is too long|input is too long|too many (input )?tokens|reduce the length of the (messages|prompt)|exceeds? the (model's )?(max|context)/i
/** Waiting does not help: the account has no credit. */
const QUOTA_KINDS = new Set([
  'insufficient_quota',
  'billing_error',
  'billing_hard_limit_reached',
  'billing_not_active',
])

const KINDS: Record<string, Meaning> = {
  overloaded_error: { category: 'provider_error', retryable: true },
  api_error: { category: 'provider_error', retryable: true },
  server_error: { category: 'provider_error', retryable: true },
  timeout_error: { category: 'timeout', retryable: true },
  rate_limit_error: { category: 'rate_limit', retryable: true },
  rate_limit_exceeded: { category: 'rate_limit', retryable: true },
  authentication_error: { category: 'auth_failed', retryable: false },
  permission_error: { category: 'auth_failed', retryable: false },
  invalid_api_key: { category: 'auth_failed', retryable: false },
  not_found_error: { category: 'configuration', retryable: false },
  model_not_found: { category: 'configuration', retryable: false },
  invalid_request_error: { category: 'provider_error', retryable: false },
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

function meaningOf({ status, kinds, message }: ServerFailure): Meaning {
  if (kinds.some(kind => QUOTA_KINDS.has(kind))) return { category: 'rate_limit', retryable: false }
  const maySayOverflow =
    status === undefined || status === 400 || status === 413 || status === 422 || status === 500
  if (maySayOverflow && (kinds.some(kind => OVERFLOW_KINDS.has(kind)) || OVERFLOW_WORDS.test(message)))
    return { category: 'context_overflow', retryable: false }
  // An error inside a response stream has no HTTP status; some servers send it as a number.
  const inBand = status ?? kinds.map(Number).find(kind => kind >= 400 && kind < 600)
  if (inBand !== undefined) {
    return STATUSES[inBand] ?? { category: 'provider_error', retryable: inBand >= 500 }
  }
  for (const kind of kinds) {
    const known = KINDS[kind]
    if (known) return known
  }
  return { category: 'provider_error', retryable: true }
}

/** Converts the server's error to the error that the turn handles. */
export function fromServer(failure: ServerFailure, site: CallSite): ModelError {
  const { category, retryable } = meaningOf(failure)
  const hint =
    category === 'auth_failed'
      ? ' (check the API key)'
      : category === 'configuration'
        ? ' (check the model name and base_url)'
        : ''
  return new ModelError(category, say(site, `${failure.status ?? 'mid-answer'}: ${failure.message}${hint}`), {
    retryable,
    retryAfterMs: failure.headers ? retryAfterMs(failure.headers, site.now()) : null,
    cause: failure.cause,
  })
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
