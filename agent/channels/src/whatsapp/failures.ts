/**
 * Classifies errors of the Graph API.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes
 */
import { type Failure, SendFailed } from '../adapter.ts'
import { failureOfStatus } from '../answered-status.ts'
import { retryAfterMs } from '../retry-after.ts'

/** More than 24 hours since the person's last message. */
export const WINDOW_CLOSED = 131047
/** "Pair rate limit": one message in six seconds to one person, after a burst. */
const PAIR_LIMIT = 131056
const PAIR_MS = 6_000

const OF_CODE: Readonly<Record<number, Failure>> = {
  0: 'unauthorized',
  10: 'unauthorized',
  190: 'unauthorized',
  4: 'rate_limited',
  80007: 'rate_limited',
  130429: 'rate_limited',
  131048: 'rate_limited',
  [PAIR_LIMIT]: 'rate_limited',
  [WINDOW_CLOSED]: 'no_window',
  131016: 'transient',
  2: 'transient',
  // "Something went wrong": the message may have been sent.
  1: 'unknown',
  131000: 'unknown',
}

/** `now` in epoch milliseconds. */
export function failureOf(status: number, code: number | null, headers: Headers, now: number): SendFailed {
  const said = `WhatsApp returned ${status}${code === null ? '' : ` (${code})`}`
  const failure = (code === null ? undefined : OF_CODE[code]) ?? byStatus(status)
  if (failure !== 'rate_limited') return new SendFailed(failure, said)
  const afterMs =
    retryAfterMs(headers.get('retry-after') ?? '', now) ?? (code === PAIR_LIMIT ? PAIR_MS : null)
  return new SendFailed('rate_limited', said, {
    ...(afterMs === null ? {} : { afterMs }),
    scope: code === PAIR_LIMIT ? 'conversation' : 'connection',
  })
}

function byStatus(status: number): Failure {
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429) return 'rate_limited'
  return failureOfStatus(status)
}
