/**
 * Slack's own client, without its retries: they could post a message twice, and the delivery loop retries
 * itself.
 */
import { limitResponse } from '@cairn/protocol'
import { type Logger, LogLevel, WebClient } from '@slack/web-api'

export type ClientOptions = {
  /** Ends with a slash. */
  apiUrl: string
}
const TIMEOUT_MS = 15_000
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** The client's log lines contain requests; errors have everything that matters. */
const say = (): void => undefined
export const SILENT: Logger = {
  debug: say,
  info: say,
  warn: say,
  error: say,
  setLevel: say,
  getLevel: () => LogLevel.ERROR,
  setName: say,
}

/** For the calls of one task, which ends with the signal. */
export const createClient = (token: string, { apiUrl }: ClientOptions, signal: AbortSignal): WebClient =>
  new WebClient(token, {
    slackApiUrl: apiUrl,
    logger: SILENT,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    fetch: async (url, init) =>
      limitResponse(
        await fetch(url, { ...init, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) }),
        MAX_ANSWER_BYTES,
      ),
  })
