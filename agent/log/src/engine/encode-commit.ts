/**
 * Encodes a commit for the writer: every payload is serialised once, on the caller's side, and redacted as
 * text.
 */
import type { EventDraft } from '@cairn/protocol'
import type { Commit, EventWithRows, LinkedCommit } from '../commit.ts'
import type { EncodedRow, EventRow } from '../resources/index.ts'
import type { NewSession } from '../session.ts'
import { effectOf } from './projection.ts'
import { modeOf, redactString } from './redact-json.ts'
import type { Redact } from './redact.ts'
import type { CommitRequest, EncodedEvent, EncodedPart } from './writer-messages.ts'

/** How a store encodes what a caller supplies; `encodeRow` is that of the resources. */
export type Encoding = {
  redact: Redact
  encodeRow: (redact: Redact, change: EventRow, event: number) => EncodedRow
}

function encodeEvent(redact: Redact, { type, data }: EventDraft): EncodedEvent {
  const effect = effectOf(type, data as Record<string, unknown>)
  if (effect?.title !== undefined) effect.title.text = redactString(redact, effect.title.text)
  return [type, redact(JSON.stringify(data), modeOf(type)), effect]
}

function encodePart(encoding: Encoding, part: LinkedCommit): EncodedPart {
  const { redact } = encoding
  const { create } = part
  const rows = encodeRows(encoding, part)
  return {
    session_id: part.session_id,
    events: part.events.map(event => encodeEvent(redact, event)),
    ...(create === undefined ? {} : { create: encodeSession(redact, { ...create, id: part.session_id }) }),
    ...(part.expect_status === undefined ? {} : { expect_status: part.expect_status }),
    ...(part.reopen === undefined ? {} : { reopen: encodeEvent(redact, part.reopen) }),
    ...(part.reopen_from === undefined ? {} : { reopen_from: part.reopen_from }),
    ...(rows.length === 0 ? {} : { rows }),
    ...(part.cursor === undefined ? {} : { cursor: part.cursor }),
    ...(part.revoke_lease === true ? { revoke_lease: true } : {}),
    ...(part.set === undefined ? {} : { set: encodeSettings(redact, part.set) }),
  }
}

/** Encodes a new session for the writer. */
export const encodeSession = (
  redact: Redact,
  session: NewSession,
): { session: NewSession; config: string } => ({
  session: {
    ...session,
    channel: redactString(redact, session.channel),
    title: typeof session.title === 'string' ? redactString(redact, session.title) : null,
  },
  config: redact(JSON.stringify(session.config ?? {})),
})

const encodeSettings = (redact: Redact, set: NonNullable<Commit['set']>): NonNullable<Commit['set']> =>
  set.title === undefined ? set : { ...set, title: redactString(redact, set.title) }

const encodeRows = (
  { redact, encodeRow }: Encoding,
  { rows = [], events }: Pick<Commit, 'rows' | 'events'>,
): EncodedRow[] => [
  ...rows.map(row => encodeRow(redact, row, 0)),
  ...events.flatMap((event: EventWithRows, index) =>
    (event.rows ?? []).map(row => encodeRow(redact, row, index)),
  ),
]

export function encodeCommit(encoding: Encoding, at: number, commit: Commit): CommitRequest {
  const { redact } = encoding
  if (commit.release_lease === true && commit.fence === undefined)
    throw new Error('[commit] release_lease needs the fence whose lease it gives back')
  const request: CommitRequest = {
    do: 'commit',
    at,
    session_id: commit.session_id,
    events: commit.events.map(event => encodeEvent(redact, event)),
  }
  if (commit.fence !== undefined) request.fence = commit.fence
  if (commit.expect_status !== undefined) request.expect_status = commit.expect_status
  if (commit.expect_no_work_after !== undefined) request.expect_no_work_after = commit.expect_no_work_after
  if (commit.expect_no_question === true) request.expect_no_question = true
  if (commit.expect_title !== undefined) request.expect_title = commit.expect_title
  if (commit.reopen !== undefined) request.reopen = encodeEvent(redact, commit.reopen)
  if (commit.reopen_from !== undefined) request.reopen_from = commit.reopen_from
  const rows = encodeRows(encoding, commit)
  if (rows.length > 0) request.rows = rows
  if (commit.cursor !== undefined) request.cursor = commit.cursor
  if (commit.revoke_lease === true) request.revoke_lease = true
  if (commit.release_lease === true) request.release_lease = true
  if (commit.can_wait === true) request.can_wait = true
  if (commit.set !== undefined) request.set = encodeSettings(redact, commit.set)
  if (commit.without_session === true) request.without_session = true
  if (commit.also !== undefined && commit.also.length > 0) {
    const named = new Set([commit.session_id, ...commit.also.map(part => part.session_id)])
    if (named.size <= commit.also.length) throw new Error('[commit] a session is named twice in one commit')
    request.also = commit.also.map(part => encodePart(encoding, part))
  }
  return request
}
