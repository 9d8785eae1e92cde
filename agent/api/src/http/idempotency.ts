/**
 * Idempotency-Key: a POST that creates something and is repeated with its key gets the first answer and has
 * no second effect. Secrets of that answer are not stored: the repeated answer names what was created and
 * says that its secret was in the first answer only.
 */
import type { AccountStore } from '@cairn/log'
import { AppError, type Principal, type Route } from '@cairn/protocol'
import { sha256 } from '../auth/secrets.ts'
import { type Exchange, sendJson } from './exchange.ts'

const KEY = /^[\x21-\x7e]{1,200}$/

export type HeldKey = {
  /** Identifies the key without revealing it; stored with the events that the request writes. */
  requestKey: string
  /** An earlier request with this key died before it answered; its writes may have been committed. */
  abandoned: boolean
  keep: (json: string) => Promise<void>
  drop: () => Promise<void>
}

/**
 * Returns null after responding, if the request was answered before; otherwise a handle that stores or
 * discards the answer.
 */
export async function beginIdempotent(
  exchange: Exchange,
  accounts: AccountStore,
  { status, shownOnce = [] }: Pick<Route, 'status' | 'shownOnce'>,
  { org_id, id: principal_id }: Pick<Principal, 'org_id' | 'id'>,
  body: Buffer,
): Promise<HeldKey | null> {
  const key = exchange.req.headers['idempotency-key']
  if (typeof key !== 'string' || !KEY.test(key))
    throw new AppError('bad_request', 'Invalid Idempotency-Key: must be 1 to 200 visible ASCII characters.')
  // The hash includes the path: one key for two routes is a mistake, not a replay.
  const bodyHash = sha256(Buffer.concat([Buffer.from(`${exchange.method} ${exchange.path}\n`), body]))
  const own = { org_id, principal_id, key }
  const before = await accounts.beginIdempotent(own, bodyHash)
  if (before === null || before.abandoned === true) {
    return {
      requestKey: sha256(`${principal_id}\n${key}`),
      abandoned: before !== null,
      keep: json => accounts.finishIdempotent(own, status, withoutKeys(json, shownOnce)),
      drop: () => accounts.dropIdempotent(own),
    }
  }
  if (before.body_sha256 !== bodyHash)
    throw new AppError(
      'idempotency_mismatch',
      'This Idempotency-Key was used with a different request: use a new key.',
    )
  if (before.status === null)
    throw new AppError(
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is still running: retry in a moment.',
    )
  if (shownOnce.length > 0)
    throw new AppError(
      'shown_once',
      'The first request with this Idempotency-Key was answered, and only that response ' +
        `contained ${shownOnce.join(', ')}. If it was lost, revoke what it created and repeat the ` +
        'request with a new key.',
      { extra: { created: JSON.parse(before.body ?? '{}') as unknown } },
    )
  sendJson(exchange, before.status, before.body ?? '', { 'idempotency-replayed': 'true' })
  return null
}

/** The JSON text of an object without some of its keys. */
function withoutKeys(json: string, keys: readonly string[]): string {
  if (keys.length === 0) return json
  const kept = Object.entries(JSON.parse(json) as object).filter(([key]) => !keys.includes(key))
  return JSON.stringify(Object.fromEntries(kept))
}
