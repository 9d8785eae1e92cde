/**
 * Idempotency-Key: a POST that creates something and is repeated with its key gets the first answer and has
 * no second effect. Secrets of that answer are not stored: the repeated answer names what was created and
 * says that its secret was in the first answer only.
 *
 * Most routes claim the key before they run and store the answer after it. Routes in ANSWERED_BY_COMMIT store
 * the answer in the commit of their effect, and claim nothing: a process that dies blocks no other attempt.
 */
import { type AccountStore, CommitRefused, type FoundAnswer, type KeyedRequest } from '@cairn/log'
import { AppError, type Principal, type Route, type RouteName } from '@cairn/protocol'
import { sha256 } from '../auth/secrets.ts'
import { type Exchange, sendJson } from './exchange.ts'

const KEY = /^[\x21-\x7e]{1,200}$/

const ANSWERED_BY_COMMIT: readonly RouteName[] = ['sendMessage', 'answerQuestion']

export type HeldKey = {
  /** For the commit that stores the answer. */
  request: KeyedRequest
  /** Identifies the key without revealing it; stored with the events that the request writes. */
  requestKey: string
  /** An earlier request with this key died before it answered; its writes may have been committed. */
  abandoned: boolean
  keep: (json: string) => Promise<void>
  drop: () => Promise<void>
  /** Responds with the answer of the attempt that was first. */
  replay: () => Promise<void>
}

type KeyedCall = { name: RouteName; route: Pick<Route, 'status' | 'shownOnce'> }

/**
 * Returns null after responding, if the request was answered before; otherwise a handle that stores or
 * discards the answer.
 */
export async function beginIdempotent(
  exchange: Exchange,
  accounts: AccountStore,
  { name, route: { status, shownOnce = [] } }: KeyedCall,
  { org_id, id: principal_id }: Pick<Principal, 'org_id' | 'id'>,
  body: Buffer,
): Promise<HeldKey | null> {
  const key = exchange.req.headers['idempotency-key']
  if (typeof key !== 'string' || !KEY.test(key))
    throw new AppError('bad_request', 'Invalid Idempotency-Key: must be 1 to 200 visible ASCII characters.')
  // The hash includes the path: one key for two routes is a mistake, not a replay.
  const bodyHash = sha256(Buffer.concat([Buffer.from(`${exchange.method} ${exchange.path}\n`), body]))
  const own = { org_id, principal_id, key }
  const isClaimed = !ANSWERED_BY_COMMIT.includes(name)
  const before = isClaimed
    ? await accounts.beginIdempotent(own, bodyHash)
    : await accounts.findIdempotent(own)
  const isAbandoned = before?.abandoned === true && before.body_sha256 === bodyHash
  if (before === null || isAbandoned) {
    const request = { principal_id, key, body_sha256: bodyHash, status }
    return {
      request,
      requestKey: sha256(`${principal_id}\n${key}`),
      abandoned: isAbandoned,
      async keep(json) {
        // An abandoned request may have been committed without its answer.
        if (isClaimed || isAbandoned)
          await accounts.finishIdempotent(own, status, withoutKeys(json, shownOnce))
      },
      async drop() {
        if (isClaimed) await accounts.dropIdempotent(own)
      },
      async replay() {
        const first = await accounts.findIdempotent(own)
        if (first === null) throw inProgress()
        replayAnswer(exchange, first, bodyHash, shownOnce)
      },
    }
  }
  replayAnswer(exchange, before, bodyHash, shownOnce)
  return null
}

const inProgress = (): AppError =>
  new AppError(
    'idempotency_in_progress',
    'The first request with this Idempotency-Key is still running: retry in a moment.',
  )

/** Whether another attempt of the request has stored its answer first, or still holds the key. */
export function isAnsweredElsewhere(error: unknown): boolean {
  const refused = error instanceof AppError ? error.cause : error
  return refused instanceof CommitRefused && refused.refusal === 'request_answered'
}

/** Sends the stored answer. Throws AppError if it belongs to another request, or there is none yet. */
function replayAnswer(
  exchange: Exchange,
  before: FoundAnswer,
  bodyHash: string,
  shownOnce: readonly string[],
): void {
  if (before.body_sha256 !== bodyHash)
    throw new AppError(
      'idempotency_mismatch',
      'This Idempotency-Key was used with a different request: use a new key.',
    )
  if (before.status === null) throw inProgress()
  if (shownOnce.length > 0)
    throw new AppError(
      'shown_once',
      'The first request with this Idempotency-Key was answered, and only that response ' +
        `contained ${shownOnce.join(', ')}. If it was lost, revoke what it created and repeat the ` +
        'request with a new key.',
      { extra: { created: JSON.parse(before.body ?? '{}') as unknown } },
    )
  sendJson(exchange, before.status, before.body ?? '', { 'idempotency-replayed': 'true' })
}

/** The JSON text of an object without some of its keys. */
function withoutKeys(json: string, keys: readonly string[]): string {
  if (keys.length === 0) return json
  const kept = Object.entries(JSON.parse(json) as object).filter(([key]) => !keys.includes(key))
  return JSON.stringify(Object.fromEntries(kept))
}
