/** Timers on Postgres; changes run under the lock of their session. */
import type { Statement } from '../../postgres/connections.ts'
import { type StoredTimer, timerGone, type TimerResource, toTimer } from './row.ts'

export const SET_TIMER: Statement = {
  name: 'set_timer',
  text: `
    INSERT INTO timers (org_key, id, kind, session_id, due_at, data) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (org_key, id) DO UPDATE
    SET kind = excluded.kind, session_id = excluded.session_id, due_at = excluded.due_at,
      data = excluded.data, claimed_by = NULL, claimed_until = 0`,
}
export const DROP_TIMER: Statement = {
  name: 'drop_timer',
  text: `DELETE FROM timers WHERE org_key = $1 AND id = $2`,
}
const FIRE: Statement = {
  name: 'fire_timer',
  text: `DELETE FROM timers WHERE org_key = $1 AND id = $2 AND claimed_by = $3 AND claimed_until = $4 RETURNING id`,
}
const CLAIM: Statement = {
  name: 'claim_timers',
  text: `
    UPDATE timers SET claimed_by = $1, claimed_until = $2
    WHERE (org_key, id) IN (
      SELECT t.org_key, t.id FROM organisations o JOIN timers t ON t.org_key = o.org_key
      WHERE t.due_at <= $3 AND t.claimed_until <= $3
      ORDER BY t.due_at LIMIT $4 FOR UPDATE OF t SKIP LOCKED)
    RETURNING *`,
}

export const timersOnPostgres: TimerResource['postgres'] = {
  changes: {
    async 'timer.set'(ask, { id, kind, session_id, after_ms, data }, { row, at }) {
      await ask(SET_TIMER, [row.org_key, id, kind, session_id, at + after_ms, JSON.stringify(data)])
    },
    async 'timer.fire'(ask, { id, claim }, { row }) {
      if ((await ask(FIRE, [row.org_key, id, claim.by, claim.until])).length === 0) throw timerGone(row, id)
    },
    async 'timer.drop'(ask, { id }, { row }) {
      await ask(DROP_TIMER, [row.org_key, id])
    },
  },

  store: ({ write, now }) => ({
    async claim(by, limit, ttlMs) {
      const at = now()
      const rows = await write(CLAIM, [by, at + ttlMs, at, limit])
      return rows.map(row => toTimer(row as StoredTimer, ttlMs))
    },
  }),
}
