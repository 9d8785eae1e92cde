/**
 * Messages between the store (main thread) and its writer (worker thread). One message holds everything that
 * was requested since the last, and answers have the order of the requests, so no request needs a number.
 * Both travel as JSON text: for small objects that is a fraction of the cost of structured clone, on either
 * side. Event payloads are JSON already and are appended to the requests verbatim: escaping and parsing them
 * again would cost more than the rest of the request.
 */
import type { EventType, SessionStatus } from '@cairn/protocol'
import type { Refusal } from '../refusals.ts'
import type { EncodedRow, ResourceName } from '../resources/index.ts'
import type { StoredItem } from '../resources/inbox/stored-item.ts'
import type { StoredLink } from '../resources/links/link.ts'
import type { Fence, NewSession } from '../session.ts'
import type { PackedSession } from '../sqlite/packed-session.ts'
import type { Snapshot } from '../store.ts'
import type { ClaimRules } from './fair-claims.ts'
import type { Effect } from './projection.ts'
import type { NamedValue } from './resource.ts'
import type { StoredSession } from './session-rows.ts'

/** An encoded event: type, data as JSON (redacted), and its effect on the session's row. */
export type EncodedEvent = [type: EventType, data: string, effect: Effect | null]

/** The part of a commit that concerns another session. */
export type EncodedPart = Pick<
  CommitRequest,
  'session_id' | 'events' | 'expect_status' | 'reopen' | 'reopen_from' | 'rows' | 'revoke_lease' | 'set'
> & {
  create?: { session: NewSession; config: string }
  cursor?: 'self'
}

/** Where pruning continues: after this session. */
export type PrunePosition = { org_key: number; key: number }

export type CommitRequest = {
  do: 'commit'
  at: number
  session_id: string
  events: EncodedEvent[]
  fence?: Fence
  expect_status?: readonly SessionStatus[]
  expect_no_work_after?: number
  expect_title?: string | null
  expect_no_question?: true
  reopen?: EncodedEvent
  reopen_from?: readonly SessionStatus[]
  rows?: EncodedRow[]
  cursor?: number | 'self'
  revoke_lease?: boolean
  release_lease?: boolean
  can_wait?: true
  set?: { status?: SessionStatus; title?: string; model?: string }
  without_session?: true
  also?: EncodedPart[]
}

export type Request =
  | CommitRequest
  | { do: 'create'; at: number; session: NewSession; config: string }
  | { do: 'claim'; at: number; worker_id: string; limit: number; ttl: number; rules?: ClaimRules }
  | {
      do: 'renew'
      at: number
      worker_id: string
      leases: readonly { session_id: string; epoch: number }[]
      ttl: number
    }
  | { do: 'release'; at: number; session_id: string; fence: Fence }
  | { do: 'prune'; before: number; after: PrunePosition }
  | { do: 'snapshot'; at: number; session_id: string; snapshot: Snapshot }
  | { do: 'probe' }
  /** A statement of a resource, by its name. */
  | { do: 'named'; resource: ResourceName; name: string; values: readonly NamedValue[] }
  /** A write of a resource outside commits. */
  | { do: 'call'; resource: ResourceName; method: string; at: number; args: readonly unknown[] }
  | { do: 'close' }

export type PartAnswer = {
  /** Id of the last event written, which is the session's last event. */
  last: number
  reopened: boolean
  /** Inbox items that were created or changed. */
  items?: string[]
  /** The session may have become claimable. */
  work: boolean
  /** Epoch of the lease on the session afterwards, null if there is none. */
  epoch: number | null
}
export type CommitAnswer = PartAnswer & {
  /** Absent if the caller does not need it. */
  session?: PackedSession
  /** Answers for the parts of other sessions, in order. */
  also?: (PartAnswer & { org_id: string })[]
}
export type ClaimAnswer = {
  session: StoredSession
  epoch: number
  abandoned_ms: number | null
  link: StoredLink | null
}[]
/** `items`: inbox items that the write changed, each with its organisation. */
export type CallAnswer = { value: unknown; items?: [orgId: string, itemId: string][] }
export type Refused = {
  refusal: Refusal
  detail: string
  session: StoredSession | null
  item: StoredItem | null
}

export type Answer =
  | [how: 'done', value: unknown]
  | [how: 'refused', refused: Refused]
  /** `storage`: the disk failed, rather than the request being invalid. */
  | [how: 'failed', message: string, storage: boolean]

/** A message for the service's logger. */
export type WriterLine = { level: 'warn' | 'error'; message: string }
/** `ready`, or why the database cannot be used, with log messages before; then the answers, batch by batch. */
export type FromWriter = 'ready' | { damaged: string } | { unsupported: string } | WriterLine | AnswersText
declare const answers: unique symbol
export type AnswersText = string & { readonly [answers]: true }
export const writeAnswers = (batch: readonly Answer[]): AnswersText => JSON.stringify(batch) as AnswersText
export const readAnswers = (text: AnswersText): Answer[] => JSON.parse(text) as Answer[]

/** An encoded request: JSON in which each payload is replaced by its length, and the payloads in order. */
export type RequestText = { head: string; payloads: string }

export function writeRequest(request: Request): RequestText {
  if (request.do !== 'commit') return { head: JSON.stringify(request), payloads: '' }
  let payloads = ''
  const lengthOf = ([type, data, effect]: EncodedEvent): [EventType, number, Effect | null] => {
    payloads += data
    return [type, data.length, effect]
  }
  const withLengths = <P extends Pick<CommitRequest, 'events' | 'reopen'>>(part: P) => ({
    ...part,
    events: part.events.map(lengthOf),
    reopen: part.reopen && lengthOf(part.reopen),
  })
  const head = JSON.stringify({ ...withLengths(request), also: request.also?.map(withLengths) })
  return { head, payloads }
}

declare const requests: unique symbol
/** The length of the requests' JSON, a colon, that JSON, and the payloads. */
export type RequestsText = string & { readonly [requests]: true }
export function joinRequests(texts: readonly RequestText[]): RequestsText {
  const heads = `[${texts.map(({ head }) => head).join(',')}]`
  return `${heads.length}:${heads}${texts.map(({ payloads }) => payloads).join('')}` as RequestsText
}

export function readRequests(text: RequestsText): Request[] {
  const from = text.indexOf(':') + 1
  let at = from + Number(text.slice(0, from - 1))
  const read = JSON.parse(text.slice(from, at)) as Request[]
  const putBack = (event: [unknown, unknown, unknown]): void => {
    event[1] = text.slice(at, (at += event[1] as number))
  }
  for (const request of read) {
    if (request.do !== 'commit') continue
    for (const { events, reopen } of [request, ...(request.also ?? [])]) {
      events.forEach(putBack)
      if (reopen !== undefined) putBack(reopen)
    }
  }
  return read
}

export type WriterStart = {
  dir: string
  path: string
  /** Epoch milliseconds. */ now: number
}
