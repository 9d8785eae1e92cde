/**
 * Repeated requests. Clients of OpenAI and Anthropic repeat a request whose answer was lost, and name it by
 * `x-stainless-retry-count` only; others send an Idempotency-Key.
 */
import { createHash } from 'node:crypto'
import type { SessionRow } from '@cairn/log'
import { AppError, type EventId, type EventOf } from '@cairn/protocol'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import { recentMessages, type SentMessage } from '../changes/exchange.ts'
import { compatOrigin } from './origin.ts'

/** How long a repetition is recognised. */
const REPEAT_MS = 10 * 60 * 1000

/** Identifies a request: by its Idempotency-Key if it has one, and by everything that it says. */
export function hashOf({ caller, path, headers, raw }: CallerRequest): string {
  const hash = (value: string | Uint8Array): string =>
    createHash('sha256').update(`${caller.principal.id}\n${path}\n`).update(value).digest('hex')
  const key = headers.get('idempotency-key')
  return `${key === null ? '' : hash(key)}:${hash(raw)}`
}

/**
 * The message of an earlier attempt of this request, whose answer was lost. Without a session, the latest
 * sessions of the caller that began through this API are searched.
 */
export async function findRepeated(
  deps: CompatDeps,
  request: CallerRequest,
  { session, channel }: { session: SessionRow | null; channel: string },
): Promise<{ session: SessionRow; event: EventId } | null> {
  const { headers, caller } = request
  const isRepeat = Number(headers.get('x-stainless-retry-count') ?? 0) > 0 || headers.has('idempotency-key')
  if (!isRepeat) return null
  const { id, org_id } = caller.principal
  const since = deps.now() - REPEAT_MS
  const latest = { org_id, created_by: id, channel: [channel], since, limit: 100 }
  const sessions = session === null ? (await deps.store.sessions.list(latest)).sessions : [session]
  const hash = hashOf(request)
  for (const each of sessions) {
    const isEnough = ([first]: readonly SentMessage[]): boolean =>
      first !== undefined && Date.parse(first.event.created_at) < since
    const sent = await recentMessages(deps.store, each, isEnough)
    const found = sent.find(({ event }) => isOf(event, hash, since))
    if (found !== undefined) return { session: each, event: found.event.id }
  }
  return null
}

/** Whether an earlier attempt of the request sent the message. */
function isOf({ data, created_at }: EventOf<'user.message'>, hash: string, since: number): boolean {
  const { request_hash: known } = compatOrigin(data.metadata)
  if (known === undefined || Date.parse(created_at) < since) return false
  const [key = ''] = hash.split(':')
  if (key !== '' && known.startsWith(`${key}:`) && known !== hash)
    throw new AppError(
      'idempotency_mismatch',
      'This Idempotency-Key was used with a different request: use a new key.',
    )
  return known === hash
}
