/**
 * Leases on Postgres: who may act for a session, and until when (contract 8). Each a statement of its
 * own.
 */
import { hasWork, toSessionRow } from '../session-rows.ts'
import type { Claim, Fence } from '../session.ts'
import type { Link } from '../links.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { readLinks } from './coordination.ts'
import { toStored } from './session-sql.ts'
import { waitingSql } from '../session-rows.ts'

/**
 * The database's own clock, read in the statement that needs it: no process can have another time, whatever
 * is made of its clock.
 */
export const DATABASE_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
/** Null outside of tests, which turn the time by hand. */
const at = (parameter: string): string => `coalesce(${parameter}::bigint, ${DATABASE_NOW})`

const free = (now: string): string => `(worker_id IS NULL OR lease_until <= ${now})`
/**
 * Takes what nobody else is taking at this moment, and never waits: a row that is being written is found by
 * the next look.
 */
const claimStatement = (name: string, where: string, order: string): Statement => ({
  name,
  text:
    `WITH clock AS (SELECT ${at('$2')} AS now),\n` +
    `    found AS (SELECT key, worker_id AS former, lease_at AS former_at FROM sessions WHERE ${where} ` +
    `AND ${free('(SELECT now FROM clock)')} ORDER BY ${order} LIMIT $4 FOR UPDATE SKIP LOCKED)\n` +
    '    UPDATE sessions s SET worker_id = $1, epoch = s.epoch + 1, lease_until = clock.now + $3, ' +
    'lease_at = clock.now FROM found, clock WHERE s.key = found.key\n' +
    `    RETURNING s.*, found.former, found.former_at, (${waitingSql('s.key', 'clock.now')}) AS waiting`,
})
const HAS_WORK = `status = 'active' AND wake_id > cursor`
const CLAIM_ROLL_BACK = claimStatement('claim_roll_back', 'saga = 2', 'key')
const CLAIM_WORK = claimStatement('claim_work', HAS_WORK, 'wake_at')
const CLAIMABLE: Statement = {
  name: 'claimable',
  text: `SELECT 1 FROM sessions WHERE ((${HAS_WORK}) OR saga = 2) AND ${free(at('$1'))} LIMIT 1`,
}
/** In the order of the keys, as every other that locks several. */
const RENEW: Statement = {
  name: 'renew',
  text:
    'WITH held AS (\n' +
    '    SELECT s.key FROM sessions s JOIN unnest($2::text[], $3::bigint[]) AS l (id, epoch) ON s.id = ' +
    'l.id AND s.epoch = l.epoch WHERE s.worker_id = $1 ORDER BY s.key FOR UPDATE OF s)\n' +
    `  UPDATE sessions s SET lease_until = ${at('$5')} + $4, lease_at = ${at('$5')} FROM held WHERE ` +
    's.key = held.key RETURNING s.id',
}
const RELEASE: Statement = {
  name: 'release',
  text:
    'UPDATE sessions SET worker_id = NULL, lease_until = 0 WHERE id = $1 AND worker_id = $2 AND epoch = ' +
    '$3 RETURNING *',
}

export function createLeases(db: Database, now: (() => number) | null, freed: () => void) {
  const toClaim = (row: Rows[number], workerId: string, links: ReadonlyMap<string, Link>): Claim => {
    const session = toStored(row)
    return {
      session: toSessionRow(session),
      fence: { worker_id: workerId, epoch: session.epoch },
      // A holder that ended in order gave the lease back; one that is still named died with it in hand.
      abandoned_s:
        row['former'] === null
          ? null
          : Math.max(0, Number(row['lease_at']) - Number(row['former_at'])) / 1000,
      link: links.get(session.id) ?? null,
    }
  }
  return {
    /** `more`: there was work left that another transaction held at that moment. */
    async claim(workerId: string, limit: number, ttlMs: number): Promise<{ claims: Claim[]; more: boolean }> {
      const at = now?.() ?? null
      const take = async (statement: Statement, places: number): Promise<Rows> =>
        places <= 0
          ? []
          : (await db.query(statement, [workerId, at, ttlMs, places])).toSorted(
              (a, b) => Number(a['wake_at']) - Number(b['wake_at']),
            )
      const rolledBack = await take(CLAIM_ROLL_BACK, limit)
      const rows = [...rolledBack, ...(await take(CLAIM_WORK, limit - rolledBack.length))]
      const more = rows.length < limit && (await db.query(CLAIMABLE, [at], { repeatable: true })).length > 0
      const children = rows.filter(row => row['parent_id'] !== null).map(row => String(row['id']))
      const links = await readLinks(db, children)
      return { claims: rows.map(row => toClaim(row, workerId, links)), more }
    },

    async renew(
      workerId: string,
      leases: readonly { session_id: string; epoch: number }[],
      ttlMs: number,
    ): Promise<string[]> {
      const at = now?.() ?? null
      const kept = await db.query(
        RENEW,
        [workerId, leases.map(lease => lease.session_id), leases.map(lease => lease.epoch), ttlMs, at],
        { repeatable: true },
      )
      const ids = new Set(kept.map(row => row['id']))
      return leases.map(lease => lease.session_id).filter(id => !ids.has(id))
    },

    async release(sessionId: string, { worker_id, epoch }: Fence): Promise<void> {
      const [row] = await db.query(RELEASE, [sessionId, worker_id, epoch], { repeatable: true })
      if (row !== undefined && hasWork(toStored(row))) freed()
    },
  }
}
