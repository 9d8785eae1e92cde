/**
 * Applies one commit inside the writer's transaction: guards, then ids, events and rows. Throws `Refusing`
 * before the session's row is replaced; rows written by then are undone by the savepoint around it.
 */
import {
  bringsWork,
  guard,
  guardPart,
  isoStamp,
  nextEvent,
  type CommitPart,
  reopens,
  settle,
} from '../engine/commit-rules.ts'
import { makeKey } from '../engine/directory.ts'
import type { CommitSql } from './commit-sql.ts'
import { addPosition } from './positions.ts'
import { composeRecord } from '../engine/record-text.ts'
import { Refusing } from '../engine/refusing.ts'
import type { SessionCache, WrittenSession } from './session-cache.ts'
import { heldEpoch, type StoredSession } from '../engine/session-rows.ts'
import type { NewSession } from '../session.ts'
import type { CommitAnswer, CommitRequest, EncodedEvent, PartAnswer } from '../engine/writer-messages.ts'

function writeEvent(
  sql: CommitSql,
  row: StoredSession,
  at: number,
  session: string,
  [type, data, effect]: EncodedEvent,
): void {
  const id = nextEvent(row, at, effect)
  const { lastInsertRowid } = sql.insertEvent.run(
    row.org_key,
    row.key,
    id,
    at,
    type,
    composeRecord(id, session, type, isoStamp(at), data),
  )
  row.recent = addPosition(row.recent, Number(lastInsertRowid))
}

/** The answer before it is packed for the other thread. */
export type Applied = Omit<CommitAnswer, 'session'> & { session: WrittenSession }

type AppliedPart = PartAnswer & { session: WrittenSession }

/** Applies one part of a commit. `before` is not changed; the caller stores the resulting row. */
function applyPart(sql: CommitSql, before: WrittenSession, at: number, part: CommitPart): AppliedPart {
  const row = { ...before }
  const session = JSON.stringify(row.id)
  const reopened = reopens(row, part)
  if (reopened && part.reopen !== undefined) writeEvent(sql, row, at, session, part.reopen)
  const first = row.last_id + 1
  for (const event of part.events) writeEvent(sql, row, at, session, event)
  let items: string[] | undefined
  for (const change of part.rows ?? []) {
    const changed = sql.changes[change.do](change, { row, at, first })
    if (changed !== undefined && changed.length > 0) (items ??= []).push(...changed)
  }
  settle(row, part)
  if (row.last_id !== before.last_id || part.set !== undefined) row.updated_at = at
  if (items !== undefined)
    row.waiting = (sql.waiting.get({ org_key: row.org_key, key: row.key, now: at })?.['rank'] ?? null) as
      number | null
  const work = bringsWork(before, row)
  return {
    last: row.last_id,
    reopened,
    session: row,
    work,
    epoch: heldEpoch(row),
    ...(items !== undefined && { items }),
  }
}

const noSession = (id: string): Refusing =>
  new Refusing('no_session', `[commit] session ${id} does not exist`, null)

export function applyCommit(sql: CommitSql, sessions: SessionCache, commit: CommitRequest): Applied {
  const { at } = commit
  const before = sessions.load(commit.session_id, at)
  if (before === null) throw noSession(commit.session_id)
  guard(before, commit)
  const own = applyPart(sql, before, at, commit)
  if (commit.also === undefined) {
    sessions.put(own.session)
    return own
  }
  const parts = commit.also.map(part => {
    const was =
      part.create === undefined
        ? sessions.load(part.session_id, at)
        : insertSession(sql, sessions, at, part.create)
    if (was === null) throw noSession(part.session_id)
    guardPart(was, part)
    return applyPart(sql, was, at, part)
  })
  // Not earlier: a rejected part undoes the others, and the cache must not have seen their sessions.
  for (const { session } of [own, ...parts]) sessions.put(session)
  return { ...own, also: parts.map(({ session, ...part }) => ({ ...part, org_id: session.org_id })) }
}

/** The key of an organisation, which is created if the store does not have it. */
function orgKeyOf(sql: CommitSql, orgId: string, at: number): number {
  let found = sql.organisation.get(orgId)
  if (found === undefined) {
    sql.addOrganisation.run(orgId, at)
    found = sql.organisation.get(orgId)
  }
  return Number(found?.['org_key'])
}

/** The new session as it was written; the caller adds it to the cache. */
export function insertSession(
  sql: CommitSql,
  sessions: SessionCache,
  at: number,
  { session, config }: { session: NewSession; config: string },
): WrittenSession {
  const there = sessions.load(session.id, at)
  if (there !== null) throw new Refusing('exists', `[commit] session ${session.id} exists already`, there)
  const orgKey = orgKeyOf(sql, session.org_id, at)
  const inserted = sql.insertSession.get(
    orgKey,
    makeKey(at),
    session.id,
    session.org_id,
    session.created_by,
    session.created_by_kind,
    session.agent,
    session.channel,
    session.title ?? null,
    session.model ?? null,
    session.parent_id ?? null,
    config,
    at,
    at,
  )
  sql.enterSession.run(session.id, orgKey, Number(inserted?.['key']))
  const row = sql.session.get({ id: session.id, now: at }) as WrittenSession | undefined
  if (row === undefined) throw new Error(`[commit] session ${session.id} was written and cannot be read`)
  return { ...row }
}
