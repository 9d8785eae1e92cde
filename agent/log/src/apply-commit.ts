/**
 * One commit inside the writer's transaction: guards, then ids, events and rows. Throws `Refusing` before the
 * session's row is replaced; rows written by then are undone by the savepoint around it.
 */
import { bringsWork, guard, isOpen, isoStamp, nextEvent, Refusing, reopens, settle } from './commit-rules.ts'
import type { CommitSql } from './commit-sql.ts'
import type { StoredItem } from './inbox-rows.ts'
import { addPosition } from './positions.ts'
import { composeRecord } from './record-text.ts'
import type { SessionCache } from './session-cache.ts'
import type { StoredSession } from './session-rows.ts'
import type { Decider } from './store.ts'
import type { CommitAnswer, CommitRequest, EncodedEvent, EncodedRow } from './writer-messages.ts'

function writeEvent(
  sql: CommitSql,
  row: StoredSession,
  at: number,
  session: string,
  [type, data, effect]: EncodedEvent,
): void {
  const id = nextEvent(row, at, effect)
  const { lastInsertRowid } = sql.insertEvent.run(
    row.key,
    id,
    at,
    type,
    composeRecord(id, session, type, isoStamp(at), data),
  )
  row.recent = addPosition(row.recent, Number(lastInsertRowid))
}

function answer(
  sql: CommitSql,
  row: StoredSession,
  at: number,
  item: StoredItem | undefined,
  decision: string,
  status: StoredItem['status'],
  what: string,
  by: Decider | null,
): readonly string[] {
  if (
    item === undefined ||
    !isOpen(item, row, at, status) ||
    sql.answerItem.get(status, decision, at, by?.id ?? null, by?.kind ?? null, item.seq) === undefined
  ) {
    throw new Refusing(
      'already_answered',
      `[commit] ${what} of session ${row.id} is not pending`,
      row,
      item ?? null,
    )
  }
  return [item.id]
}

const NONE: readonly string[] = []

/** Returns the ids of the inbox items it touched. `first` is the id of the first event of the commit. */
function changeRow(
  sql: CommitSql,
  row: StoredSession,
  at: number,
  first: number,
  change: EncodedRow,
): readonly string[] {
  switch (change.do) {
    case 'inbox.open': {
      const { item } = change
      sql.openItem.run(
        item.id,
        row.key,
        row.id,
        row.org_id,
        row.created_by,
        first + change.event,
        item.kind,
        item.title,
        item.body,
        item.payload,
        item.private,
        item.tool_call_id,
        at,
        item.expires_at,
      )
      return [item.id]
    }
    case 'inbox.answer':
      return answer(
        sql,
        row,
        at,
        sql.item.get(change.id) as StoredItem | undefined,
        change.decision,
        change.status,
        `inbox item ${change.id}`,
        change.decided_by ?? null,
      )
    case 'inbox.answer_call':
      return answer(
        sql,
        row,
        at,
        sql.itemOfCall.get(row.key, change.tool_call_id, change.kind) as StoredItem | undefined,
        change.decision,
        'responded',
        `the ${change.kind} item of call ${change.tool_call_id}`,
        null,
      )
    case 'inbox.expire_all':
      return sql.expireItems.all(change.decision, at, row.key).map(({ id }) => String(id))
    case 'inbox.expire_call': {
      const item = sql.itemOfCall.get(row.key, change.tool_call_id, change.kind) as StoredItem | undefined
      if (item === undefined || item.status === 'expired') return []
      const what = `the ${change.kind} item of call ${change.tool_call_id}`
      return answer(sql, row, at, item, change.decision, 'expired', what, null)
    }
    case 'grant.add':
      sql.dropGrants.run(row.key, at)
      sql.addGrant.run(
        change.id,
        row.key,
        change.tool,
        change.arguments_hash,
        change.granted_by.id,
        change.granted_by.kind,
        at,
        change.expires_at,
      )
      return NONE
    case 'grant.consume':
      if (sql.consumeGrant.get(change.id, row.key, change.tool, change.arguments_hash, at) === undefined) {
        throw new Refusing(
          'no_grant',
          `[commit] session ${row.id} has no live grant for this call of ${change.tool}`,
          row,
        )
      }
      return NONE
    case 'artifact.add': {
      const { artifact } = change
      sql.addArtifact.run(
        row.key,
        artifact.artifact_id,
        artifact.name,
        artifact.kind,
        artifact.version,
        artifact.size,
        at,
        change.spec,
      )
      return NONE
    }
  }
}

/** The answer before it is packed to cross between threads. */
export type Applied = Omit<CommitAnswer, 'session'> & { session: StoredSession }

export function applyCommit(sql: CommitSql, sessions: SessionCache, commit: CommitRequest): Applied {
  const { at } = commit
  const before = sessions.load(commit.session_id, at)
  if (before === null)
    throw new Refusing('no_session', `[commit] there is no session ${commit.session_id}`, null)
  guard(before, commit)
  const row = { ...before }
  const session = JSON.stringify(row.id)
  const reopened = reopens(row, commit)
  if (reopened && commit.reopen !== undefined) writeEvent(sql, row, at, session, commit.reopen)
  const first = row.last_id + 1
  for (const event of commit.events) writeEvent(sql, row, at, session, event)
  let items: string[] | undefined
  for (const change of commit.rows ?? []) {
    const touched = changeRow(sql, row, at, first, change)
    if (touched.length > 0) (items ??= []).push(...touched)
  }
  settle(row, commit)
  if (row.last_id !== before.last_id || commit.set !== undefined) row.updated_at = at
  if (items !== undefined)
    row.waiting = (sql.waiting.get({ key: row.key, now: at })?.['rank'] ?? null) as number | null
  sessions.put(row)
  const work = bringsWork(before, row)
  return { last: row.last_id, reopened, session: row, work, ...(items !== undefined && { items }) }
}
