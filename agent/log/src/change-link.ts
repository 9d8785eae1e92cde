/** Changes to links, trees and timers within a commit, inside the writer's transaction. */
import { Refusing } from './commit-rules.ts'
import type { LinkSql } from './link-sql.ts'
import { DAY_MS, type LinkChange, type SeenLog } from './links.ts'
import type { StoredSession } from './session-rows.ts'
import type { Request } from './writer-messages.ts'

/** Refusals of changes to links, worded alike for all stores. */
export const linkRefusals = {
  tooManyOpen: (row: StoredSession, parent: string, most: number) =>
    new Refusing('too_many_open', `[commit] session ${parent} has ${most} open children, the maximum`, row),
  tooManyChildren: (row: StoredSession, root: string, most: number) =>
    new Refusing(
      'too_many_children',
      `[commit] the tree of ${root} got ${most} children within a day, the maximum`,
      row,
    ),
  settled: (row: StoredSession, child: string) =>
    new Refusing('already_settled', `[commit] the link of child ${child} is not open`, row),
  moved: (row: StoredSession, root: string) =>
    new Refusing('tree_moved', `[commit] the tree of ${root} has changed since it was read`, row),
  goneOn: (row: StoredSession, child: string) =>
    new Refusing('tree_moved', `[commit] child ${child} has changed since its outcome was composed`, row),
  timerGone: (row: StoredSession, id: string) =>
    new Refusing('timer_gone', `[commit] timer ${id} does not exist, or another runner claimed it`, row),
}

/** True if the child's session has written since its outcome was composed. */
export const hasContinued = (row: StoredSession, seen: SeenLog | undefined): boolean =>
  seen !== undefined &&
  (row.input_tokens !== seen.input_tokens ||
    row.output_tokens !== seen.output_tokens ||
    row.tool_call_count !== seen.tool_call_count)

export function changeLink(sql: LinkSql, row: StoredSession, at: number, change: LinkChange): void {
  switch (change.do) {
    case 'link.open': {
      const { link, max_open, max_total } = change
      if (Number(sql.countOpen.get(link.parent_id)?.['count']) >= max_open)
        throw linkRefusals.tooManyOpen(row, link.parent_id, max_open)
      if (Number(sql.countSince.get(link.root_id, at - DAY_MS)?.['count']) >= max_total)
        throw linkRefusals.tooManyChildren(row, link.root_id, max_total)
      sql.openLink.run({ reserved_tokens: 0, reserved_cost_usd: 0, ...link, at })
      sql.moveTree.run(link.root_id)
      return
    }
    case 'link.settle': {
      const { child_id, root_id, status, cause, input_tokens, output_tokens, cost_usd, seen } = change
      if (hasContinued(row, seen)) throw linkRefusals.goneOn(row, child_id)
      const settled = sql.settleLink.get(status, cause, input_tokens, output_tokens, cost_usd, at, child_id)
      if (settled === undefined) throw linkRefusals.settled(row, child_id)
      sql.moveTree.run(root_id)
      return
    }
    case 'link.mark':
      sql.markLink.run(change.paused_by_parent ? 1 : 0, change.child_id)
      sql.moveTree.run(change.root_id)
      return
    case 'tree.expect':
      if (Number(sql.version.get(change.root_id)?.['version'] ?? 0) !== change.version)
        throw linkRefusals.moved(row, change.root_id)
      return
    case 'timer.set':
      sql.setTimer.run(
        change.id,
        change.kind,
        change.session_id,
        at + change.after_ms,
        JSON.stringify(change.data),
      )
      return
    case 'timer.fire':
      if (sql.fireTimer.get(change.id, change.claim.by, change.claim.until) === undefined)
        throw linkRefusals.timerGone(row, change.id)
      return
    case 'timer.drop':
      sql.dropTimer.run(change.id)
      return
  }
}

/** Due timers without a claim, as rows. */
export const claimTimers = (
  sql: LinkSql,
  { by, at, limit, ttl }: Extract<Request, { do: 'claimTimers' }>,
): unknown[] => sql.claimTimers.all({ by, now: at, until: at + ttl, limit })
