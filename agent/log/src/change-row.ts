/** Row changes of a commit besides its events and its session's row, inside the writer's transaction. */
import { changeBoard } from './change-board.ts'
import { changeCodeRun } from './change-code-run.ts'
import { guardOfBrowser } from './browsers.ts'
import { guardOfChannel } from './change-channel.ts'
import { changeLink } from './change-link.ts'
import { changeMission } from './change-mission.ts'
import { changeResearch } from './change-research.ts'
import { changeSchedule } from './change-schedule.ts'
import { changeTask } from './change-task.ts'
import { isOpen, Refusing } from './commit-rules.ts'
import type { CommitSql } from './commit-sql.ts'
import type { StoredItem } from './inbox-rows.ts'
import type { StoredSession } from './session-rows.ts'
import type { Decider } from './commit.ts'
import type { EncodedRow } from './writer-messages.ts'

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

/** Returns the ids of the affected inbox items. `first` is the id of the commit's first event. */
export function changeRow(
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
        change.decided_by ?? null,
      )
    case 'inbox.expire_all':
      return sql.expireItems.all(change.decision, at, row.key).map(({ id }) => String(id))
    case 'inbox.expire_waiting':
      return sql.expireWaiting.all(change.decision, at, row.key).map(({ id }) => String(id))
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
    case 'task.add':
    case 'task.move':
      changeTask(sql.links, row, at, change)
      return NONE
    case 'board.add':
      changeBoard(sql.links, row, at, change)
      return NONE
    case 'mission.add':
    case 'mission.move':
      changeMission(sql.links, row, at, change)
      return NONE
    case 'branch.add':
    case 'branch.harvest':
    case 'branch.mark':
    case 'source.add':
      changeResearch(sql.research, row, at, change)
      return NONE
    case 'channel.accept':
    case 'channel.route':
    case 'channel.disclosed': {
      const { name, values, refusing } = guardOfChannel(row, at, first, change)
      if (sql.channel(name, values).length === 0) throw refusing()
      return NONE
    }
    case 'browser.open':
    case 'browser.control':
    case 'browser.close': {
      const { name, values, refusing } = guardOfBrowser(row, at, change)
      if (sql.channel(name, values).length === 0) throw refusing()
      return NONE
    }
    case 'schedule.add':
    case 'schedule.move':
    case 'run.put':
      changeSchedule(sql.schedules, sql.links, row, at, change)
      return NONE
    case 'code.begin':
    case 'code.move':
      changeCodeRun(sql.codeRuns, row, at, change)
      return NONE
    default:
      changeLink(sql.links, row, at, change)
      return NONE
  }
}
