/**
 * Encodes a commit for the writer: every payload is serialised once, on the caller's side, and redacted as
 * text.
 */
import { type EventDraft, factsOf } from '@cairn/protocol'
import { effectOf } from './projection.ts'
import type { Mode } from './redact/values.ts'
import type { Redact } from './redact.ts'
import type { Commit, EventWithRows, EventRow, LinkedCommit } from './commit.ts'
import type { NewSession } from './session.ts'
import type { CommitRequest, EncodedEvent, EncodedPart, EncodedRow } from './writer-messages.ts'

export const redactString = (redact: Redact, text: string, mode: Mode = 'text'): string =>
  JSON.parse(redact(JSON.stringify(text), mode)) as string

const redactJson = <T>(redact: Redact, value: T): T => JSON.parse(redact(JSON.stringify(value), 'text')) as T

/** Arguments are approved and audited, so nothing but the secret itself is removed. */
const modeOf = (type: string): Mode => (factsOf(type).arguments === true ? 'arguments' : 'text')

function encodeEvent(redact: Redact, { type, data }: EventDraft): EncodedEvent {
  const effect = effectOf(type, data as Record<string, unknown>)
  if (effect?.title !== undefined) effect.title.text = redactString(redact, effect.title.text)
  return [type, redact(JSON.stringify(data), modeOf(type)), effect]
}

/** `event` is the index of the event that the row belongs to. */
function encodeRow(redact: Redact, row: EventRow, event: number): EncodedRow {
  if (row.do === 'artifact.add')
    return {
      ...row,
      artifact: { ...row.artifact, name: redactString(redact, row.artifact.name) },
      spec: redact(JSON.stringify(row.spec)),
    }
  if (row.do === 'board.add') return { ...row, notes: redactJson(redact, row.notes) }
  if (row.do === 'task.add') return { ...row, task: redactJson(redact, row.task) }
  if (row.do === 'mission.add') return { ...row, mission: redactJson(redact, row.mission) }
  if (row.do === 'branch.add') return { ...row, branch: redactJson(redact, row.branch) }
  if (row.do === 'source.add') return { ...row, source: redactJson(redact, row.source) }
  if (row.do === 'branch.harvest' || row.do === 'branch.mark')
    return { ...row, state: redactJson(redact, row.state) }
  if (row.do === 'schedule.add') return { ...row, schedule: redactJson(redact, row.schedule) }
  if (row.do === 'schedule.move') {
    const { spec } = row
    const shown = spec === undefined ? {} : { spec: redactJson(redact, spec) }
    return { ...row, ...shown, state: redactJson(redact, row.state) }
  }
  if ((row.do === 'task.move' || row.do === 'mission.move') && row.state !== undefined)
    return { ...row, state: redactJson(redact, row.state) }
  if (row.do !== 'inbox.open') return row
  const { item } = row
  const mode = modeOf(`inbox.${item.kind}`)
  const title = redactString(redact, item.title)
  const body = item.body === null ? null : redactString(redact, item.body, mode)
  return {
    do: 'inbox.open',
    event,
    item: {
      ...item,
      title,
      body,
      payload: redact(JSON.stringify(item.payload), mode),
      private: JSON.stringify(item.private ?? {}),
    },
  }
}

function encodePart(redact: Redact, part: LinkedCommit): EncodedPart {
  const { create } = part
  const rows = encodeRows(redact, part)
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

const encodeRows = (redact: Redact, { rows = [], events }: Pick<Commit, 'rows' | 'events'>): EncodedRow[] => [
  ...rows.map(row => encodeRow(redact, row, 0)),
  ...events.flatMap((event: EventWithRows, index) =>
    (event.rows ?? []).map(row => encodeRow(redact, row, index)),
  ),
]

export function encodeCommit(redact: Redact, at: number, commit: Commit): CommitRequest {
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
  const rows = encodeRows(redact, commit)
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
    request.also = commit.also.map(part => encodePart(redact, part))
  }
  return request
}
