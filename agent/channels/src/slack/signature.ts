/** Slack's request signature: https://docs.slack.dev/authentication/verifying-requests-from-slack */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError } from '@cairn/protocol'

/** Slack's recommendation; replays within this time are detected by their event key. */
const MAX_SKEW_S = 300

/** Throws AppError bad_signature. `now` in epoch milliseconds. */
export function verifySignature(secret: string, raw: Uint8Array, headers: Headers, now: number): void {
  const timestamp = headers.get('x-slack-request-timestamp') ?? ''
  const given = headers.get('x-slack-signature') ?? ''
  if (!/^\d{1,12}$/.test(timestamp) || given === '')
    throw refused('missing x-slack-request-timestamp or x-slack-signature')
  if (Math.abs(now / 1000 - Number(timestamp)) > MAX_SKEW_S)
    throw refused(`the timestamp is off by more than ${MAX_SKEW_S} s`)
  const wanted = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(raw).digest('hex')}`
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  if (a.length !== b.length || !timingSafeEqual(a, b)) throw refused('the signature does not match this app')
}

const refused = (why: string): AppError => new AppError('bad_signature', `Slack request rejected: ${why}.`)
