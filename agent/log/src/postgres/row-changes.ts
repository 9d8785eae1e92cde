/**
 * Row changes of a commit besides its events and its session's row (inbox, grants, artifacts), under the lock
 * on that row.
 */
import { isOpen, Refusing } from '../commit-rules.ts'
import { BESIDE_SQL, type StoredItem } from '../inbox-rows.ts'
import { EXPIRES_WITH_STOP, type StoredSession } from '../session-rows.ts'
import type { Decider } from '../commit.ts'
import type { EncodedRow } from '../writer-messages.ts'
import { guardOfChannel } from '../change-channel.ts'
import { guardOfBrowser } from '../browsers.ts'
import { channelStatement } from '../channel-store.ts'
import { changeBoard } from './change-board.ts'
import { changeCodeRun } from './change-code-run.ts'
import { changeLink } from './change-link.ts'
import { changeMission } from './change-mission.ts'
import { changeResearch } from './change-research.ts'
import { changeSchedule } from './change-schedule.ts'
import { changeTask } from './change-task.ts'
import type { Rows, Statement, Value } from './connections.ts'

export type Ask = (statement: Statement, values: readonly Value[]) => Promise<Rows>
/** An inbox item that was created or changed, and when, by the server's clock. */
export type ChangedItem = { id: string; at: number }

const statement = (name: string, text: string): Statement => ({ name, text })
/** The server's clock, which all processes share. */
export const CHANGED_NOW = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const OPEN_ITEM = statement(
  'open_item',
  'INSERT INTO inbox_items (id, session_key, session_id, org_id, created_by, source_event_id, kind, ' +
    'status, title, body, payload, private, tool_call_id, created_at, expires_at, changed_at)\n' +
    `  VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13, $14, ${CHANGED_NOW}) ` +
    'RETURNING id, changed_at',
)
const ITEM = statement('item_to_answer', `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE id = $1`)
const ITEM_OF_CALL = statement(
  'item_of_call',
  `SELECT *, ${BESIDE_SQL} FROM inbox_items WHERE session_key = $1 AND tool_call_id = $2 AND kind = $3 ` +
    "ORDER BY status = 'pending' DESC, seq DESC LIMIT 1",
)
const ANSWER_ITEM = statement(
  'answer_item',
  'UPDATE inbox_items SET status = $1, decision = $2, responded_at = $3, decided_by = $4, ' +
    `decided_by_kind = $5, changed_at = ${CHANGED_NOW} WHERE seq = $6 AND status = 'pending' RETURNING ` +
    'id, changed_at',
)
const EXPIRE =
  "UPDATE inbox_items SET status = 'expired', decision = $1, responded_at = $2, changed_at = " +
  `${CHANGED_NOW} WHERE session_key = $3 AND status = 'pending'`
const EXPIRE_ITEMS = statement('expire_items', `${EXPIRE} RETURNING id, changed_at`)
const EXPIRE_WAITING = statement(
  'expire_waiting_items',
  `${EXPIRE} AND ${EXPIRES_WITH_STOP} RETURNING id, changed_at`,
)
const DROP_GRANTS = statement('drop_grants', 'DELETE FROM grants WHERE session_key = $1 AND expires_at <= $2')
const ADD_GRANT = statement(
  'add_grant',
  'INSERT INTO grants (id, session_key, tool, arguments_hash, granted_by, granted_by_kind, created_at, ' +
    'expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
)
const CONSUME_GRANT = statement(
  'consume_grant',
  'DELETE FROM grants WHERE id = $1 AND session_key = $2 AND tool = $3 AND arguments_hash = $4 AND ' +
    'expires_at > $5 RETURNING id',
)
const ADD_ARTIFACT = statement(
  'add_artifact',
  'INSERT INTO artifacts (session_key, artifact_id, name, kind, version, size, created_at, spec) ' +
    'VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
)

const changedItems = (rows: Rows): ChangedItem[] =>
  rows.map(row => ({ id: String(row['id']), at: Number(row['changed_at']) }))
const NONE: readonly ChangedItem[] = []

async function answer(
  ask: Ask,
  row: StoredSession,
  at: number,
  [found]: Rows,
  decision: string,
  status: StoredItem['status'],
  what: string,
  by: Decider | null,
): Promise<readonly ChangedItem[]> {
  const item = found as StoredItem | undefined
  const answered =
    item !== undefined && isOpen(item, row, at, status)
      ? changedItems(
          await ask(ANSWER_ITEM, [status, decision, at, by?.id ?? null, by?.kind ?? null, item.seq]),
        )
      : NONE
  if (answered.length === 0)
    throw new Refusing(
      'already_answered',
      `[commit] ${what} of session ${row.id} is not pending`,
      row,
      item ?? null,
    )
  return answered
}

/** Returns the affected inbox items. `first` is the id of the commit's first event. */
export async function changeRow(
  ask: Ask,
  row: StoredSession,
  at: number,
  first: number,
  change: EncodedRow,
): Promise<readonly ChangedItem[]> {
  switch (change.do) {
    case 'inbox.open': {
      const { item } = change
      return changedItems(
        await ask(OPEN_ITEM, [
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
        ]),
      )
    }
    case 'inbox.answer':
      return answer(
        ask,
        row,
        at,
        await ask(ITEM, [change.id]),
        change.decision,
        change.status,
        `inbox item ${change.id}`,
        change.decided_by ?? null,
      )
    case 'inbox.answer_call':
      return answer(
        ask,
        row,
        at,
        await ask(ITEM_OF_CALL, [row.key, change.tool_call_id, change.kind]),
        change.decision,
        'responded',
        `the ${change.kind} item of call ${change.tool_call_id}`,
        change.decided_by ?? null,
      )
    case 'inbox.expire_all':
      return changedItems(await ask(EXPIRE_ITEMS, [change.decision, at, row.key]))
    case 'inbox.expire_waiting':
      return changedItems(await ask(EXPIRE_WAITING, [change.decision, at, row.key]))
    case 'inbox.expire_call': {
      const found = await ask(ITEM_OF_CALL, [row.key, change.tool_call_id, change.kind])
      const item = found[0] as StoredItem | undefined
      if (item === undefined || item.status === 'expired') return []
      const what = `the ${change.kind} item of call ${change.tool_call_id}`
      return answer(ask, row, at, found, change.decision, 'expired', what, null)
    }
    case 'grant.add':
      await ask(DROP_GRANTS, [row.key, at])
      await ask(ADD_GRANT, [
        change.id,
        row.key,
        change.tool,
        change.arguments_hash,
        change.granted_by.id,
        change.granted_by.kind,
        at,
        change.expires_at,
      ])
      return NONE
    case 'grant.consume': {
      const [grant] = await ask(CONSUME_GRANT, [change.id, row.key, change.tool, change.arguments_hash, at])
      if (grant === undefined)
        throw new Refusing(
          'no_grant',
          `[commit] session ${row.id} has no live grant for this call of ${change.tool}`,
          row,
        )
      return NONE
    }
    case 'artifact.add': {
      const { artifact } = change
      await ask(ADD_ARTIFACT, [
        row.key,
        artifact.artifact_id,
        artifact.name,
        artifact.kind,
        artifact.version,
        artifact.size,
        at,
        change.spec,
      ])
      return NONE
    }
    case 'task.add':
    case 'task.move':
      await changeTask(ask, row, at, change)
      return NONE
    case 'board.add':
      await changeBoard(ask, row, at, change)
      return NONE
    case 'mission.add':
    case 'mission.move':
      await changeMission(ask, row, at, change)
      return NONE
    case 'branch.add':
    case 'branch.harvest':
    case 'branch.mark':
    case 'source.add':
      await changeResearch(ask, row, at, change)
      return NONE
    case 'channel.accept':
    case 'channel.route':
    case 'channel.disclosed': {
      const { name, values, refusing } = guardOfChannel(row, at, first, change)
      if ((await ask(channelStatement(name), values)).length === 0) throw refusing()
      return NONE
    }
    case 'browser.open':
    case 'browser.control':
    case 'browser.close': {
      const { name, values, refusing } = guardOfBrowser(row, at, change)
      if ((await ask(channelStatement(name), values)).length === 0) throw refusing()
      return NONE
    }
    case 'schedule.add':
    case 'schedule.move':
    case 'run.put':
      await changeSchedule(ask, row, at, change)
      return NONE
    case 'code.begin':
    case 'code.move':
      await changeCodeRun(ask, row, at, change)
      return NONE
    default:
      await changeLink(ask, row, at, change)
      return NONE
  }
}
