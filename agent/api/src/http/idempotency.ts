/**
 * Idempotency-Key: a POST that creates, sent again with its key, gets the first answer instead of a second
 * effect.
 */
import type { AccountStore } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { sha256 } from '../auth/secrets.ts'
import { type Exchange, sendJson } from './exchange.ts'

const KEY = /^[\x21-\x7e]{1,200}$/

export type Held = {
  /** Names the key without telling it: goes into the log beside what the request wrote. */
  requestKey: string
  /** An earlier request with this key died before it could answer: what it wrote may be there. */
  abandoned: boolean
  keep: (status: number, json: string) => Promise<void>
  drop: () => Promise<void>
}

/**
 * Answers by itself and returns null when the request was answered before; else the way to keep or drop what
 * comes of it.
 */
export async function beginIdempotent(
  exchange: Exchange,
  accounts: AccountStore,
  principalId: string,
  body: Buffer,
): Promise<Held | null> {
  const key = exchange.req.headers['idempotency-key']
  if (typeof key !== 'string' || !KEY.test(key))
    throw new AppError('bad_request', 'Idempotency-Key must be 1 to 200 visible ASCII characters.')
  // The path belongs to what was asked: one key for two routes is a mistake, not a replay.
  const bodyHash = sha256(Buffer.concat([Buffer.from(`${exchange.method} ${exchange.path}\n`), body]))
  const before = await accounts.beginIdempotent(key, principalId, bodyHash)
  if (before === null || before.abandoned === true) {
    return {
      requestKey: sha256(`${principalId}\n${key}`),
      abandoned: before !== null,
      keep: (status, json) => accounts.finishIdempotent(key, principalId, status, json),
      drop: () => accounts.dropIdempotent(key, principalId),
    }
  }
  if (before.body_sha256 !== bodyHash)
    throw new AppError(
      'idempotency_mismatch',
      'This Idempotency-Key was used with another request; use a new key.',
    )
  if (before.status === null)
    throw new AppError(
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is still running; try again in a moment.',
    )
  sendJson(exchange, before.status, before.body ?? '', { 'idempotency-replayed': 'true' })
  return null
}
