/** Timers on the embedded store. */
import type { Db } from '../../sqlite/adapter.ts'
import { type StoredTimer, type Timer, timerGone, type TimerResource, toTimer } from './row.ts'

/** Sets a timer, or replaces the one with the same id. */
export function prepareTimers(db: Db) {
  const set = db.prepare(`
    INSERT OR REPLACE INTO timers (org_key, id, kind, session_id, due_at, data) VALUES (?, ?, ?, ?, ?, ?)`)
  const drop = db.prepare(`DELETE FROM timers WHERE org_key = ? AND id = ?`)
  return { set, drop }
}

export const timersOnSqlite: TimerResource['sqlite'] = {
  changes(db) {
    const { set, drop } = prepareTimers(db)
    const fire = db.prepare(`
      DELETE FROM timers WHERE org_key = ? AND id = ? AND claimed_by = ? AND claimed_until = ? RETURNING id`)
    return {
      'timer.set'({ id, kind, session_id, after_ms, data }, { row, at }) {
        set.run(row.org_key, id, kind, session_id, at + after_ms, JSON.stringify(data))
      },
      'timer.fire'({ id, claim }, { row }) {
        if (fire.get(row.org_key, id, claim.by, claim.until) === undefined) throw timerGone(row, id)
      },
      'timer.drop'({ id }, { row }) {
        drop.run(row.org_key, id)
      },
    }
  },

  writes(db) {
    const claim = db.prepare(`
      UPDATE timers SET claimed_by = :by, claimed_until = :until
      WHERE (org_key, id) IN (
        SELECT t.org_key, t.id FROM organisations o CROSS JOIN timers t
        WHERE t.org_key = o.org_key AND t.due_at <= :now AND t.claimed_until <= :now
        ORDER BY t.due_at LIMIT :limit)
      RETURNING *`)
    return {
      claim: (now: number, by: string, limit: number, ttlMs: number): Timer[] =>
        (claim.all({ by, now, until: now + ttlMs, limit }) as StoredTimer[]).map(timer =>
          toTimer(timer, ttlMs),
        ),
    }
  },

  reads: () => ({}),

  store: ({ write }) => ({
    claim: async (by, limit, ttlMs) => (await write('claim', by, limit, ttlMs)) as Timer[],
  }),
}
