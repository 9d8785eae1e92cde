/**
 * Changes to links, trees and timers within a commit on Postgres, under the locks of its sessions and trees.
 */
import { hasContinued, linkRefusals } from '../change-link.ts'
import { DAY_MS, type LinkChange } from '../links.ts'
import type { StoredSession } from '../session-rows.ts'
import type { EncodedRow } from '../writer-messages.ts'
import type { Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

const statement = (name: string, text: string): Statement => ({ name, text })

export const LOCK_TREES = statement(
  'lock_trees',
  'SELECT root_id FROM trees WHERE root_id = ANY($1::text[]) ORDER BY root_id FOR UPDATE',
)
const COUNT_OPEN = statement(
  'count_open_links',
  `SELECT count(*) AS count FROM links WHERE parent_id = $1 AND status = 'open' AND kind <> 'run'`,
)
const COUNT_SINCE = statement(
  'count_links_since',
  'SELECT count(*) AS count FROM links WHERE root_id = $1 AND opened_at > $2',
)
const OPEN_LINK = statement(
  'open_link',
  'INSERT INTO links (child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt, ' +
    'reserved_tokens, reserved_cost_usd, status, opened_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ' +
    "$10, 'open', $11)",
)
const SETTLE_LINK = statement(
  'settle_link',
  'UPDATE links SET status = $1, cause = $2, input_tokens = $3, output_tokens = $4, cost_usd = $5, ' +
    "settled_at = $6 WHERE child_id = $7 AND status = 'open' RETURNING child_id",
)
const MARK_LINK = statement('mark_link', 'UPDATE links SET paused_by_parent = $1 WHERE child_id = $2')
const VERSION = statement('tree_version', 'SELECT version FROM trees WHERE root_id = $1')
export const MOVE_TREE = statement(
  'move_tree',
  'INSERT INTO trees (root_id, version) VALUES ($1, 1) ON CONFLICT (root_id) DO UPDATE SET version = ' +
    'trees.version + 1',
)
export const SET_TIMER = statement(
  'set_timer',
  'INSERT INTO timers (id, kind, session_id, due_at, data) VALUES ($1, $2, $3, $4, $5)\n' +
    '  ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, session_id = excluded.session_id, due_at = ' +
    'excluded.due_at, data = excluded.data, claimed_by = NULL, claimed_until = 0',
)
const FIRE_TIMER = statement(
  'fire_timer',
  'DELETE FROM timers WHERE id = $1 AND claimed_by = $2 AND claimed_until = $3 RETURNING id',
)
export const DROP_TIMER = statement('drop_timer', 'DELETE FROM timers WHERE id = $1')

/** The trees whose rows a change touches, for their locks. */
export function rootOf(change: EncodedRow): string[] {
  switch (change.do) {
    case 'link.open':
      return [change.link.root_id]
    case 'task.add':
      return [change.task.root_id]
    case 'mission.add':
      return [change.mission.session_id]
    case 'board.add':
    case 'task.move':
    case 'mission.move':
    case 'link.settle':
    case 'link.mark':
    case 'tree.expect':
      return [change.root_id]
    default:
      return []
  }
}

export async function changeLink(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: LinkChange,
): Promise<void> {
  switch (change.do) {
    case 'link.open': {
      const { link, max_open, max_total } = change
      // First: it locks the tree, even if that has no row yet, so that no other transaction counts at the
      // same time.
      await ask(MOVE_TREE, [link.root_id])
      // A run has its own tree: there is nothing to count.
      if (link.kind !== 'run') {
        const [open] = await ask(COUNT_OPEN, [link.parent_id])
        if (Number(open?.['count']) >= max_open) throw linkRefusals.tooManyOpen(row, link.parent_id, max_open)
        const [since] = await ask(COUNT_SINCE, [link.root_id, at - DAY_MS])
        if (Number(since?.['count']) >= max_total)
          throw linkRefusals.tooManyChildren(row, link.root_id, max_total)
      }
      const { child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt } = link
      const { reserved_tokens = 0, reserved_cost_usd = 0 } = link
      const ties = [child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt]
      await ask(OPEN_LINK, [...ties, reserved_tokens, reserved_cost_usd, at])
      return
    }
    case 'link.settle': {
      const { child_id, root_id, status, cause, input_tokens, output_tokens, cost_usd, seen } = change
      if (hasContinued(row, seen)) throw linkRefusals.goneOn(row, child_id)
      const settled = await ask(SETTLE_LINK, [
        status,
        cause,
        input_tokens,
        output_tokens,
        cost_usd,
        at,
        child_id,
      ])
      if (settled.length === 0) throw linkRefusals.settled(row, child_id)
      await ask(MOVE_TREE, [root_id])
      return
    }
    case 'link.mark':
      await ask(MARK_LINK, [change.paused_by_parent ? 1 : 0, change.child_id])
      await ask(MOVE_TREE, [change.root_id])
      return
    case 'tree.expect': {
      const [tree] = await ask(VERSION, [change.root_id])
      if (Number(tree?.['version'] ?? 0) !== change.version) throw linkRefusals.moved(row, change.root_id)
      return
    }
    case 'timer.set':
      await ask(SET_TIMER, [
        change.id,
        change.kind,
        change.session_id,
        at + change.after_ms,
        JSON.stringify(change.data),
      ])
      return
    case 'timer.fire':
      if ((await ask(FIRE_TIMER, [change.id, change.claim.by, change.claim.until])).length === 0)
        throw linkRefusals.timerGone(row, change.id)
      return
    case 'timer.drop':
      await ask(DROP_TIMER, [change.id])
      return
  }
}
