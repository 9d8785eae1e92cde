/** Answers to requests with an Idempotency-Key (contract 4.5), as both stores keep them. */
import { Refusing } from '../../engine/refusing.ts'
import type { ChangeContext } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'

/** How long an answer is stored. */
export const IDEMPOTENCY_MS = 24 * 3600 * 1000
/** Longer than any request: a claim on an idempotency key that is older belongs to a request that died. */
export const IDEMPOTENCY_HOLD_MS = 60_000

/** An Idempotency-Key belongs to the principal that sent it. */
export type IdempotencyKey = { org_id: string; principal_id: string; key: string }

/** `status` is null while a request that claimed the key runs. */
export type StoredAnswer = { body_sha256: string; status: number | null; body: string | null }
/** `abandoned`: the request that claimed the key died before it answered. */
export type FoundAnswer = StoredAnswer & { abandoned?: true }

/** A request whose answer is stored in the commit of its effect. `status` is that of its answer. */
export type KeyedRequest = { principal_id: string; key: string; body_sha256: string; status: number }

/**
 * Stores the answer to a request in the commit of its effect, so that no attempt holds the key while it runs,
 * and a process that dies leaves either both or none. The answer is the commit's first event as `event_id`,
 * and `members`. Rejected with `request_answered` if an earlier attempt has answered, or still runs.
 */
export type AnswerChange = {
  do: 'request.answer'
  request: KeyedRequest
  members: Readonly<Record<string, string>>
}

/** `mark` begins the number of a parameter. A row is replaced if it has expired or is abandoned. */
export const storeAnswer = (mark: '$' | '?'): string => `
  INSERT INTO idempotent_answers AS known (org_key, principal_id, key, body_sha256, status, body, created_at)
  VALUES (${mark}1, ${mark}2, ${mark}3, ${mark}4, ${mark}5, ${mark}6, ${mark}7)
  ON CONFLICT (org_key, principal_id, key) DO UPDATE
  SET body_sha256 = excluded.body_sha256, status = excluded.status, body = excluded.body,
    created_at = excluded.created_at
  WHERE known.created_at <= ${mark}8
    OR known.status IS NULL AND known.body_sha256 = excluded.body_sha256 AND known.created_at <= ${mark}9
  RETURNING key`

export const answerValues = (
  { request: { principal_id, key, body_sha256, status }, members }: AnswerChange,
  { row, at, first }: ChangeContext,
): [number, string, string, string, number, string, number, number, number] => [
  row.org_key,
  principal_id,
  key,
  body_sha256,
  status,
  JSON.stringify({ event_id: first, ...members }),
  at,
  at - IDEMPOTENCY_MS,
  at - IDEMPOTENCY_HOLD_MS,
]

/** Null for an answer that has expired. */
export function foundAnswer(
  stored: (StoredAnswer & { created_at: number }) | null,
  now: number,
): FoundAnswer | null {
  if (stored === null || stored.created_at <= now - IDEMPOTENCY_MS) return null
  const { created_at, ...answer } = stored
  const isAbandoned = answer.status === null && created_at <= now - IDEMPOTENCY_HOLD_MS
  return isAbandoned ? { ...answer, abandoned: true } : answer
}

const PURGE_MS = 60_000
/** Whether the expired answers of an organisation are to be deleted: at most once a minute by each process. */
export function createPurgeSchedule(now: () => number): (orgId: string) => boolean {
  const purged = new Map<string, number>()
  return orgId => {
    const at = now()
    if (at < (purged.get(orgId) ?? 0) + PURGE_MS) return false
    purged.set(orgId, at)
    return true
  }
}

/** The refusal of an answer, worded alike for all stores. */
export const requestAnswered = (row: StoredSession, { key }: KeyedRequest): Refusing =>
  new Refusing(
    'request_answered',
    `[commit] another attempt of the request with the Idempotency-Key ${key} was first`,
    row,
  )
