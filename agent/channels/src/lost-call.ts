/** Classifies a call that got no response. */
import { SendFailed } from './adapter.ts'

/** Errors before the request was sent. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** `thrown` by fetch. The message contains no URL, because it may hold a token. */
export function lostCall(who: string, thrown: unknown): SendFailed {
  const cause = thrown instanceof Error ? thrown.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return NOT_SENT.has(code)
    ? new SendFailed('transient', `cannot connect to ${who} (${code})`, { cause: thrown })
    : new SendFailed('unknown', `${who} did not respond`, { cause: thrown })
}
