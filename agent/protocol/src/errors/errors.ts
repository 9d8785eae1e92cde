/** The error table: code → HTTP status, title, and whether a retry can succeed. */
export const ERRORS = {
  bad_request: { status: 400, title: 'Malformed request', retryable: false },
  unsupported: { status: 400, title: 'Not supported', retryable: false },
  invalid_cursor: { status: 400, title: 'Invalid cursor', retryable: false },
  unauthenticated: { status: 401, title: 'Missing or invalid credentials', retryable: false },
  token_expired: { status: 401, title: 'The token has expired', retryable: false },
  forbidden: { status: 403, title: 'Not allowed for this principal', retryable: false },
  user_token_required: { status: 403, title: 'This route accepts user tokens only', retryable: false },
  service_account_route: {
    status: 403,
    title: 'Service account tokens are accepted under /v1/api/ only',
    retryable: false,
  },
  people_decide: {
    status: 403,
    title: 'On this server only users can decide, not service accounts',
    retryable: false,
  },
  bad_signature: { status: 401, title: 'Invalid signature', retryable: false },
  csrf: { status: 403, title: 'The request came from another site', retryable: false },
  origin_not_allowed: { status: 403, title: 'This site is not allowed to do that', retryable: false },
  no_control: { status: 403, title: 'You do not control this browser', retryable: false },
  no_browser: { status: 404, title: 'The session has no browser', retryable: false },
  not_found: { status: 404, title: 'Not found', retryable: false },
  method_not_allowed: { status: 405, title: 'Method not allowed', retryable: false },
  limit_reached: { status: 409, title: 'The limit is reached', retryable: false },
  wrong_state: { status: 409, title: 'Not possible in the current state', retryable: false },
  version_conflict: { status: 409, title: 'Changed in the meantime', retryable: false },
  already_answered: { status: 409, title: 'Already answered', retryable: false },
  question_open: { status: 409, title: 'A question of the agent is pending', retryable: false },
  control_held: { status: 409, title: 'Another user controls this browser', retryable: false },
  disclosure_required: { status: 409, title: 'The disclosure is not confirmed yet', retryable: false },
  idempotency_in_progress: {
    status: 409,
    title: 'A request with this Idempotency-Key is still running',
    retryable: true,
  },
  shown_once: {
    status: 409,
    title: 'The response to this Idempotency-Key contained a secret that is shown only once',
    retryable: false,
  },
  history_differs: {
    status: 409,
    title: 'The history of the client differs from the log',
    retryable: false,
  },
  not_what_was_shown: {
    status: 409,
    title: 'The item covers different arguments than those shown',
    retryable: false,
  },
  cursor_lost: {
    status: 410,
    title: 'The cursor points to an event that the log has lost',
    retryable: false,
  },
  body_too_large: { status: 413, title: 'The request body is too large', retryable: false },
  unsupported_media_type: { status: 415, title: 'The content type is not supported', retryable: false },
  invalid_body: { status: 422, title: 'The request body does not match the schema', retryable: false },
  idempotency_mismatch: {
    status: 422,
    title: 'The Idempotency-Key was used with a different request body',
    retryable: false,
  },
  invalid_schedule: { status: 422, title: 'Invalid schedule', retryable: false },
  unknown_agent: { status: 422, title: 'Unknown agent', retryable: false },
  wrong_target: { status: 422, title: 'The target does not accept that', retryable: false },
  too_many_streams: { status: 429, title: 'Too many open streams', retryable: true },
  rate_limited: { status: 429, title: 'Too many requests', retryable: true },
  internal: { status: 500, title: 'Internal server error', retryable: true },
  storage: { status: 503, title: 'The store did not accept the write', retryable: true },
  browser_unavailable: {
    status: 503,
    title: 'The browser is not reachable from this server',
    retryable: true,
  },
  draining: { status: 503, title: 'The server is shutting down', retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable: boolean }>

export type ErrorCode = keyof typeof ERRORS

/** A client error or a rejected operation, with a code of the table. Bugs are plain Errors. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  /** Extra members of the problem document (`errors`, `decision`, …). */
  readonly extra: Record<string, unknown>
  constructor(
    code: ErrorCode,
    detail: string,
    options: { cause?: unknown; extra?: Record<string, unknown> } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.extra = options.extra ?? {}
  }
  get status(): number {
    return ERRORS[this.code].status
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable
  }
}

/** Coerces any thrown value to an Error; no other place does. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))
