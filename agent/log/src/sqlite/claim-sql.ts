/** The queries of a claim, prepared once for the writer's connection. */
import type { Db } from './adapter.ts'

/** Sessions with work and without a lease; the partial index sessions_queued covers exactly these. */
export const QUEUED = `s.status = 'active' AND s.wake_id > s.cursor AND s.worker_id IS NULL`
/**
 * The tree of a child without a link is that of its parent. A correlated subquery, because a join may make
 * the planner read all links.
 */
export const TURN = `
  s.id, s.created_by, s.wake_at,
    CASE WHEN s.parent_id IS NULL THEN NULL ELSE coalesce(
      (SELECT l.root_id FROM links l WHERE l.org_key = s.org_key AND l.child_id = s.id), s.parent_id)
      END AS root_id`

const LEASED = 'sessions s INDEXED BY sessions_leased WHERE s.worker_id IS NOT NULL'
/** Counts the sessions that a claim without a limit takes; `:at` is the time of leases. */
export const COUNT_DUE = `
  SELECT
    (SELECT count(*) FROM sessions s INDEXED BY sessions_queued WHERE ${QUEUED} AND s.saga <> 2)
    + (SELECT count(*) FROM ${LEASED} AND s.lease_until <= :at AND s.status = 'active'
        AND s.wake_id > s.cursor AND s.saga <> 2)
    + (SELECT count(*) FROM sessions INDEXED BY sessions_to_roll_back
        WHERE saga = 2 AND (worker_id IS NULL OR lease_until <= :at)) AS due`

export function prepareClaimSql(db: Db) {
  const queued = `SELECT ${TURN} FROM sessions s INDEXED BY sessions_queued WHERE ${QUEUED}`
  const ofPrincipal = (isChild: 0 | 1): string =>
    `${queued} AND s.org_key = ? AND s.created_by = ? AND (s.parent_id IS NOT NULL) = ${isChild} ORDER BY s.wake_at`
  return {
    toRollBack: db.prepare(`
      SELECT id
      FROM sessions INDEXED BY sessions_to_roll_back
      WHERE saga = 2 AND (worker_id IS NULL OR lease_until <= ?)
      LIMIT ?`),
    running: db.prepare(`SELECT ${TURN} FROM ${LEASED} AND s.lease_until > ?`),
    /** Sessions with work whose lease has expired. */
    orphaned: db.prepare(
      `SELECT ${TURN} FROM ${LEASED} AND s.lease_until <= ? AND s.status = 'active' AND s.wake_id > s.cursor`,
    ),
    queued: db.prepare(`${queued} LIMIT ?`),
    nextPrincipal: db.prepare(`
      SELECT s.org_key, s.created_by FROM sessions s INDEXED BY sessions_queued
      WHERE ${QUEUED} AND (s.org_key, s.created_by) > (?, ?)
      ORDER BY s.org_key, s.created_by LIMIT 1`),
    queuedRoots: db.prepare(`${ofPrincipal(0)} LIMIT ?`),
    queuedChildren: db.prepare(ofPrincipal(1)),
  }
}
export type ClaimSql = ReturnType<typeof prepareClaimSql>
