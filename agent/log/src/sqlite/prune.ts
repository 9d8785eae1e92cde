/**
 * Deletes superseded llm.delta rows (contract 2). A delta is superseded by the next llm.response of its
 * session, whichever iteration that ends: a call that was retried leaves deltas without a response of their
 * own.
 */
import type { PrunePosition } from '../engine/writer-messages.ts'
import type { SessionCache } from './session-cache.ts'
import type { Db } from './adapter.ts'

export type PruneStep = (
  sessions: SessionCache,
  before: number,
  after: PrunePosition,
) => { deleted: number; after: PrunePosition | null }

/**
 * One session per step, so that a commit waits for one session's rows at most. `after` continues; null
 * means done.
 */
export function preparePrune(db: Db): PruneStep {
  const next = db.prepare(`
    SELECT org_key, key, id FROM sessions INDEXED BY sessions_with_deltas
    WHERE delta_low > 0 AND (org_key, key) > (?, ?)
    ORDER BY org_key, key LIMIT 1`)
  const LOG = `event_positions p JOIN events e ON e.pos = p.pos
    WHERE p.org_key = ? AND p.session_key = ?`
  const response = db.prepare(
    `SELECT max(p.id) AS id FROM ${LOG} AND p.id > ? AND e.type = 'llm.response' AND e.at < ?`,
  )
  const superseded = db.prepare(
    `SELECT p.id, p.pos FROM ${LOG} AND p.id >= ? AND p.id < ? AND e.type = 'llm.delta'`,
  )
  const removeEvent = db.prepare('DELETE FROM events WHERE pos = ?')
  const removePosition = db.prepare(`
    DELETE FROM event_positions WHERE org_key = ? AND session_key = ? AND id = ?`)
  const left = db.prepare(`SELECT min(p.id) AS id FROM ${LOG} AND p.id > ? AND e.type = 'llm.delta'`)
  return (sessions, before, after) => {
    const found = next.get(after.org_key, after.key) as (PrunePosition & { id: string }) | undefined
    if (found === undefined) return { deleted: 0, after: null }
    const { org_key, key } = found
    const stored = sessions.load(found.id, before)
    if (stored === null) throw new Error(`[prune] session ${found.id} is in the table and cannot be read`)
    const row = { ...stored }
    sessions.settle(row)
    sessions.put(row)
    const covered = response.get(org_key, key, row.delta_low, before)?.['id'] as number | null
    if (covered === null) return { deleted: 0, after: { org_key, key } }
    const gone = superseded.all(org_key, key, row.delta_low, covered) as { id: number; pos: number }[]
    for (const { id, pos } of gone) {
      removeEvent.run(pos)
      removePosition.run(org_key, key, id)
    }
    row.pruned += gone.length
    row.delta_low = Number(left.get(org_key, key, covered)?.['id'] ?? 0)
    return { deleted: gone.length, after: { org_key, key } }
  }
}
