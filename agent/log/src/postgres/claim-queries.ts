/** The queries of a claim on Postgres: queued sessions, and, if limits require it, running ones. */
import { QUEUED, TURN } from '../sqlite/claim-sql.ts'
import {
  chooseFairly,
  type ClaimRules,
  countBy,
  isLimited,
  isRun,
  least,
  MAX_PRINCIPALS,
  type RunningTurn,
  type WaitingTurn,
} from '../engine/fair-claims.ts'
import type { Ask } from '../engine/resource.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { at } from './database-now.ts'

export const HAS_WORK = `s.status = 'active' AND s.wake_id > s.cursor`
export const isFree = (now: string): string => `(s.worker_id IS NULL OR s.lease_until <= ${now})`

/** Queued sessions are read in index order, so that no plan reads the table. */
const POLL: Statement = {
  name: 'look_for_work',
  text: `
    WITH clock AS MATERIALIZED (SELECT ${at('$1')} AS now)
    (SELECT ${TURN}, 'rolls_back' AS how FROM clock, sessions s
     WHERE s.saga = 2 AND ${isFree('clock.now')}
     ORDER BY s.org_key, s.key LIMIT $2)
    UNION ALL
    (SELECT ${TURN}, 'orphaned' AS how FROM clock, sessions s
     WHERE s.worker_id IS NOT NULL AND s.lease_until <= clock.now AND ${HAS_WORK})
    UNION ALL
    (SELECT ${TURN}, 'queued' AS how FROM sessions s
     WHERE ${QUEUED}
     ORDER BY s.org_key, s.created_by, (s.parent_id IS NOT NULL), s.wake_at LIMIT $3)`,
}
const RUNNING: Statement = {
  name: 'running_turns',
  text: `SELECT ${TURN} FROM sessions s WHERE s.worker_id IS NOT NULL AND s.lease_until > ${at('$1')}`,
}
/** Counts the sessions that a claim without a limit takes. */
export const COUNT_DUE: Statement = {
  name: 'count_due',
  text: `
    WITH clock AS MATERIALIZED (SELECT ${at('$1')} AS now)
    SELECT
      (SELECT count(*) FROM sessions s WHERE ${QUEUED} AND s.saga <> 2)
      + (SELECT count(*) FROM clock, sessions s
         WHERE s.worker_id IS NOT NULL AND s.lease_until <= clock.now AND ${HAS_WORK} AND s.saga <> 2)
      + (SELECT count(*) FROM clock, sessions s WHERE s.saga = 2 AND ${isFree('clock.now')}) AS due`,
}
/** The root in the link of a session. */
const ROOT = `(SELECT l.root_id FROM links l WHERE l.org_key = s.org_key AND l.child_id = s.id)`
/** A loose index scan over the principals; for each its roots, and its children with capacity. */
const POLL_BY_PRINCIPAL: Statement = {
  name: 'look_by_principal',
  text: `
    WITH RECURSIVE principals AS (
      (SELECT s.org_key, s.created_by, 1 AS nth FROM sessions s
       WHERE ${QUEUED} AND (s.org_key, s.created_by) > ($7::integer, $1)
       ORDER BY s.org_key, s.created_by LIMIT 1)
      UNION ALL
      SELECT n.org_key, n.created_by, p.nth + 1
      FROM principals p CROSS JOIN LATERAL (
        SELECT s.org_key, s.created_by FROM sessions s
        WHERE ${QUEUED} AND (s.org_key, s.created_by) > (p.org_key, p.created_by)
        ORDER BY s.org_key, s.created_by LIMIT 1
      ) n
      WHERE p.nth < $3
    )
    SELECT p.org_key AS org, p.created_by AS principal, p.nth, w.*
    FROM principals p LEFT JOIN LATERAL (
      (SELECT ${TURN} FROM sessions s
       WHERE ${QUEUED} AND s.org_key = p.org_key AND s.created_by = p.created_by
         AND (s.parent_id IS NOT NULL) = false
       ORDER BY s.wake_at LIMIT $2)
      UNION ALL
      (SELECT ${TURN} FROM sessions s
       WHERE ${QUEUED} AND s.org_key = p.org_key AND s.created_by = p.created_by
         AND (s.parent_id IS NOT NULL) = true
         AND NOT coalesce(${ROOT}, s.parent_id) = ANY($4::text[])
         AND NOT (p.created_by = ANY($6::text[]) AND s.id = ${ROOT})
       ORDER BY s.wake_at LIMIT $5)
    ) w ON true`,
}
/** Extra rows, because concurrent claims may take some of those that were read. */
const spareFor = (limit: number): number => limit + 16
/** For the test of their plans. */
export const CLAIM_QUERIES = { LOOK: POLL, RUNNING, LOOK_BY_PRINCIPAL: POLL_BY_PRINCIPAL, COUNT_DUE }

/** Whom sessions run for, within an organisation. */
type Principal = { org_key: number; created_by: string }
const FIRST: Principal = { org_key: 0, created_by: '' }

export type Wanted = { runnerId: string; limit: number; ttlMs: number; at: number | null; rules: ClaimRules }
export type ClaimQuery = {
  toRollBack: string[]
  chosen: WaitingTurn[]
  /** More sessions were queued than were read. */
  cut: boolean
}

export const readRunning = async (ask: Ask, now: number | null): Promise<RunningTurn[]> =>
  (await ask(RUNNING, [now])).map(toTurn)

export function createClaimQuery(db: Database): (wanted: Wanted) => Promise<ClaimQuery> {
  /** Where the last round over the principals ended. */
  let last: Principal = FIRST

  async function look({ limit, at: now, rules }: Wanted): Promise<ClaimQuery> {
    const most = limit + spareFor(limit)
    const rows = await db.query(POLL, [now, limit, most], { repeatable: true })
    const of = (how: string): WaitingTurn[] => rows.filter(row => row['how'] === how).map(toTurn)
    const toRollBack = of('rolls_back').map(each => each.id)
    const orphaned = of('orphaned').filter(each => !toRollBack.includes(each.id))
    const queued = of('queued')
    const cut = queued.length >= most
    const places = most - toRollBack.length
    const few = [...orphaned, ...queued]
    // If all waiting sessions fit, nothing needs to be counted.
    if (few.length <= limit - toRollBack.length && !isLimited(few, rules))
      return { toRollBack, chosen: chooseFairly(few, [], places, rules), cut }
    const running = await readRunning(db.query, now)
    const waiting = cut ? [...orphaned, ...(await lookByPrincipal(most, running, rules))] : few
    return { toRollBack, chosen: chooseFairly(waiting, running, places, rules), cut }
  }

  async function lookByPrincipal(
    places: number,
    running: readonly RunningTurn[],
    { tree_parallel, children, principal_runs }: ClaimRules,
  ): Promise<WaitingTurn[]> {
    const trees = countBy(running, each => each.root_id)
    const full = [...trees].filter(([, count]) => tree_parallel !== null && count >= tree_parallel)
    const runs = countBy(running, each => (isRun(each) ? each.created_by : null))
    const withRuns = [...runs].filter(([, count]) => count >= least(principal_runs)).map(([by]) => by)
    const roots = full.map(([root]) => root)
    const most = children === 0 ? 0 : places
    const ask = ({ org_key, created_by }: Principal): Promise<Rows> =>
      db.query(POLL_BY_PRINCIPAL, [created_by, places, MAX_PRINCIPALS, roots, most, withRuns, org_key], {
        repeatable: true,
      })
    const found = await ask(last)
    const rows = found.length > 0 || last === FIRST ? found : await ask(FIRST)
    // The round has ended or covers all principals: the next one starts over.
    const end = rows.find(row => row['nth'] === MAX_PRINCIPALS)
    last = end === undefined ? FIRST : { org_key: Number(end['org']), created_by: String(end['principal']) }
    return rows.filter(row => row['id'] !== null).map(toTurn)
  }

  return look
}

const toTurn = (row: Rows[number]): WaitingTurn => ({
  id: String(row['id']),
  created_by: String(row['created_by']),
  wake_at: Number(row['wake_at']),
  root_id: row['root_id'] === null ? null : String(row['root_id']),
})
