/** Classifies errors of mail servers. No message here repeats an address or text of an email. */
import { ConsumeFailed, SendFailed } from '../adapter.ts'

const has = (thrown: unknown, key: string): unknown =>
  typeof thrown === 'object' && thrown !== null && key in thrown
    ? (thrown as Record<string, unknown>)[key]
    : undefined

/** No connection was made, or the server had not received the email yet. */
const NOT_SENT = ['EDNS', 'ETLS', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']
/** RFC 5321 4.3.2, RFC 4954: the server requires a login, or another one. */
const LOGIN = [530, 534, 535, 538]

/** RFC 5321 4.2.1: 4yz is a transient failure, 5yz a permanent one. */
export function sendFailed(thrown: unknown): SendFailed {
  const status = Number(has(thrown, 'responseCode') ?? 0)
  const command = String(has(thrown, 'command') ?? '')
  const enhanced = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(String(has(thrown, 'response') ?? ''))?.[0]
  const code = String(has(thrown, 'code') ?? '')
  const answer = enhanced === undefined ? `${status}` : `${status} ${enhanced}`
  const said = `the mail server returned ${answer} to ${command}`
  if (LOGIN.includes(status)) return new SendFailed('unauthorized', said)
  if (status >= 500) return new SendFailed('permanent', said)
  if (status >= 400) return new SendFailed('transient', said)
  if (code === 'EENVELOPE' || code === 'EMESSAGE')
    return new SendFailed('permanent', `the email cannot be sent (${code})`)
  const never = NOT_SENT.includes(code) || has(thrown, 'syscall') === 'connect'
  return never
    ? new SendFailed('transient', `cannot connect to the mail server (${code})`)
    : new SendFailed('unknown', `the mail server did not respond (${code})`)
}

export function consumeFailed(thrown: unknown): ConsumeFailed {
  if (thrown instanceof ConsumeFailed) return thrown
  // RFC 5530: UNAVAILABLE is a failure of the server itself.
  if (has(thrown, 'authenticationFailed') === true && has(thrown, 'serverResponseCode') !== 'UNAVAILABLE')
    return new ConsumeFailed(
      'unauthorized',
      'The mailbox rejected the password. Many providers require an app password.',
    )
  const code = String(has(thrown, 'serverResponseCode') ?? has(thrown, 'code') ?? 'no response')
  return new ConsumeFailed('lost', `The mailbox does not respond (${code.slice(0, 60)}).`)
}
