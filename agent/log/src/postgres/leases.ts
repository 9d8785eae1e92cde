/**
 * Leases on Postgres: which runner may act for a session, and until when (contract 8). Each operation is one
 * statement.
 */
import { keyOf } from '../engine/directory.ts'
import { NO_RULES } from '../engine/fair-claims.ts'
import { hasWork, toSessionRow } from '../engine/session-rows.ts'
import type { Claim } from '../session.ts'
import type { Link } from '../resources/links/link.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { createClaim } from './claim.ts'
import { COUNT_DUE } from './claim-queries.ts'
import { at } from './database-now.ts'
import { readLinks } from '../resources/links/postgres.ts'
import { toStored } from './session-sql.ts'
import type { LeaseStore } from '../store.ts'
import type { Watchers } from './watchers.ts'

/** In key order, like every statement that locks several rows, to avoid deadlocks. */
const RENEW: Statement = {
  name: 'renew',
  text: `
    WITH held AS (
      SELECT s.org_key, s.key
      FROM unnest($2::text[], $3::bigint[]) AS l (id, epoch)
      JOIN directory d ON d.kind = 'session' AND d.id = l.id
      JOIN sessions s ON s.org_key = d.org_key AND s.key = d.key AND s.epoch = l.epoch
      WHERE s.worker_id = $1
      ORDER BY s.org_key, s.key FOR UPDATE OF s
    )
    UPDATE sessions s SET lease_until = ${at('$5')} + $4, lease_at = ${at('$5')}
    FROM held WHERE s.org_key = held.org_key AND s.key = held.key
    RETURNING s.id`,
}
const RELEASE: Statement = {
  name: 'release',
  text: `
    UPDATE sessions SET worker_id = NULL, lease_until = 0
    WHERE (org_key, key) = ${keyOf('$1')} AND worker_id = $2 AND epoch = $3
    RETURNING *`,
}

export function createLeases(
  db: Database,
  now: (() => number) | null,
  { freed, lookAgain }: Pick<Watchers, 'freed' | 'lookAgain'>,
): Pick<LeaseStore, 'claim' | 'renew' | 'release' | 'countDue'> {
  const toClaim = (row: Rows[number], runnerId: string, links: ReadonlyMap<string, Link>): Claim => {
    const session = toStored(row)
    return {
      session: toSessionRow(session),
      fence: { worker_id: runnerId, epoch: session.epoch },
      // A holder that shut down cleanly released the lease; one that is still named died with it.
      abandoned_s:
        row['former'] === null
          ? null
          : Math.max(0, Number(row['lease_at']) - Number(row['former_at'])) / 1000,
      link: links.get(session.id) ?? null,
    }
  }
  const claim = createClaim(db)
  return {
    async claim(runnerId, limit, ttlMs, rules = NO_RULES) {
      const { rows, more } = await claim({ runnerId, limit, ttlMs, at: now?.() ?? null, rules })
      const children = rows.filter(row => row['parent_id'] !== null).map(row => String(row['id']))
      const links = await readLinks(db, children)
      // Another transaction held further work at that moment.
      if (more) lookAgain()
      return rows.map(row => toClaim(row, runnerId, links))
    },

    async renew(runnerId, leases, ttlMs) {
      const at = now?.() ?? null
      const kept = await db.query(
        RENEW,
        [runnerId, leases.map(lease => lease.session_id), leases.map(lease => lease.epoch), ttlMs, at],
        { repeatable: true },
      )
      const ids = new Set(kept.map(row => row['id']))
      return leases.map(lease => lease.session_id).filter(id => !ids.has(id))
    },

    async release(sessionId, { worker_id, epoch }) {
      const [row] = await db.query(RELEASE, [sessionId, worker_id, epoch], { repeatable: true })
      if (row !== undefined && hasWork(toStored(row))) freed()
    },

    async countDue() {
      const [row] = await db.query(COUNT_DUE, [now?.() ?? null], { repeatable: true })
      return Number(row?.['due'])
    },
  }
}
