/**
 * Signatures as https://www.standardwebhooks.com defines them: HMAC-SHA256 over the bytes of
 * `id.timestamp.body`. The body is never decoded first, because a decoder maps different invalid bytes to
 * the same text, and one signature would then be valid for all of them.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError } from '@cairn/protocol'

/** Maximum difference in seconds between a timestamp and this server's clock. */
const SKEW_MAX_S = 300
const PREFIX = 'whsec_'

export type Signatures = {
  /** Headers of an outgoing request. `at` in epoch milliseconds. */
  headersFor(id: string, at: number, body: string): Record<string, string>
  /** Throws AppError bad_signature unless the request was signed with this secret. `now` in epoch milliseconds. */
  verify(request: { raw: Uint8Array; headers: Headers }, now: number): void
}

/** Throws unless `secret` is base64, with or without the prefix `whsec_`. */
export function createSignatures(secret: string): Signatures {
  const key = keyOf(secret)
  const sign = (id: string, timestamp: string, body: string | Uint8Array): string =>
    `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
  return {
    headersFor(id, at, body) {
      const timestamp = String(Math.floor(at / 1000))
      return {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': sign(id, timestamp, body),
      }
    },
    verify({ raw, headers }, now) {
      const id = headers.get('webhook-id') ?? ''
      const timestamp = headers.get('webhook-timestamp') ?? ''
      const given = headers.get('webhook-signature') ?? ''
      if (id === '' || timestamp === '' || given === '')
        throw rejected('missing webhook-id, webhook-timestamp or webhook-signature')
      if (!/^\d{1,12}$/.test(timestamp))
        throw rejected('webhook-timestamp must be whole seconds since 1970, in digits')
      if (Math.abs(now / 1000 - Number(timestamp)) > SKEW_MAX_S)
        throw rejected(`webhook-timestamp differs from the server time by more than ${SKEW_MAX_S} s`)
      const expected = Buffer.from(sign(id, timestamp, raw))
      if (!given.split(' ').some(each => isEqual(Buffer.from(each), expected)))
        throw rejected(
          'webhook-signature contains no valid v1 signature for this secret, id, timestamp and body',
        )
    },
  }
}

function keyOf(secret: string): Buffer {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded))
    throw new Error(`a webhook secret must be ${PREFIX} followed by the base64 of at least 24 bytes`)
  return Buffer.from(encoded, 'base64')
}

const isEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

const rejected = (why: string): AppError => new AppError('bad_signature', `Webhook rejected: ${why}.`)
