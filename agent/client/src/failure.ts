/** How a request fails: the server refused it, or no readable answer arrived. */
import type { ErrorCode } from '@cairn/protocol'

/** RFC 9457 problem document; other members (`decision`, …) are kept. */
export type ProblemDocument = {
  type: string
  title: string
  status: number
  code: string
  detail: string
  request_id: string
  errors?: { path: string; message: string }[] | undefined
  [member: string]: unknown
}

/** Retryable codes whose status is not retryable; a test compares them with the protocol's table. */
const TELL_MORE: readonly string[] = ['idempotency_in_progress'] satisfies ErrorCode[]

/**
 * The server refused the request or failed. `problem` has the details; `code` is from the table in
 * protocol/errors.ts.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly problem: ProblemDocument
  /** The server's Retry-After, in milliseconds. */
  readonly retryAfterMs: number | null
  constructor(problem: ProblemDocument, retryAfterMs: number | null = null) {
    const { title, detail } = problem
    // "Session x not found." needs no "Not found: ".
    super(detail.toLowerCase().includes(title.toLowerCase()) ? detail : `${title}: ${detail}`)
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
  get status(): number {
    return this.problem.status
  }
  get code(): string {
    return this.problem.code
  }
  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return TELL_MORE.includes(this.code) || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

/** No answer: the server or the network is down, or the connection went silent. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly url: string
  constructor(url: string, cause: unknown) {
    super(`${url} did not respond: ${reasonOf(cause)}`, { cause })
    this.url = url
  }
}

/** fetch reports only "fetch failed"; the reason is in the error's `cause`. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  if (thrown.cause instanceof Error) return reasonOf(thrown.cause)
  return thrown.message || ('code' in thrown ? String(thrown.code) : thrown.name)
}

/** Reads an error response. Proxies answer with their own pages; those become a problem document too. */
export async function readFailure(response: Response, now: number): Promise<ApiError> {
  const text = await response.text()
  return new ApiError(
    readProblem(text) ?? {
      type: 'about:blank',
      title: response.statusText || `HTTP ${response.status}`,
      status: response.status,
      code: response.status >= 500 ? 'internal' : 'bad_request',
      detail: text.slice(0, 200) || 'no details',
      request_id: response.headers.get('x-request-id') ?? '',
    },
    retryAfterMs(response.headers.get('retry-after'), now),
  )
}

function readProblem(text: string): ProblemDocument | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Not JSON, so not from our server; the caller creates a problem document.
    return null
  }
  return isProblem(value) ? value : null
}

const TEXTS = ['type', 'title', 'code', 'detail', 'request_id'] as const
/** Whether the value has the required members of a problem document (`Problem` of the contract). */
function isProblem(value: unknown): value is ProblemDocument {
  if (typeof value !== 'object' || value === null) return false
  const { status, errors = [], ...members } = value as Record<string, unknown>
  return (
    typeof status === 'number' &&
    Array.isArray(errors) &&
    TEXTS.every(name => typeof members[name] === 'string')
  )
}

/** Retry-After is seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
