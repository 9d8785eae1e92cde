/**
 * Leases inside the writer's transaction: which runner may act for a session, and until when (contract 8).
 */
import type { ClaimSql } from './claim-sql.ts'
import type { CommitSql } from './commit-sql.ts'
import {
  chooseFairly,
  type ClaimRules,
  countBy,
  isLimited,
  isRun,
  least,
  MAX_PRINCIPALS,
  NO_RULES,
  type RunningTurn,
  type WaitingTurn,
} from '../engine/fair-claims.ts'
import type { StoredLink } from '../resources/links/link.ts'
import type { SessionCache } from './session-cache.ts'
import { hasWork } from '../engine/session-rows.ts'
import type { ClaimAnswer, Request } from '../engine/writer-messages.ts'

/** Whom sessions run for, within an organisation. */
type Principal = { org_key: number; created_by: string }
/** Where the last round over the waiting principals ended. */
export type Round = { after: Principal }
export const FIRST: Principal = { org_key: 0, created_by: '' }

const isAfter = (a: Principal, b: Principal): boolean =>
  a.org_key > b.org_key || (a.org_key === b.org_key && a.created_by > b.created_by)

type Of<K extends Request['do']> = Extract<Request, { do: K }>

/**
 * Claims sessions with a saga to roll back first, then work in the order of fair-claims.ts. Every claim has a
 * new epoch, so later commits of the former holder are rejected. `principals`: where the last round over them
 * ended.
 */
export function claim(
  sql: CommitSql,
  sessions: SessionCache,
  request: Of<'claim'>,
  principals: Round,
): ClaimAnswer {
  const { at, limit, rules = NO_RULES } = request
  const toRollBack = sql.claims.toRollBack.all(at, limit).map(({ id }) => String(id))
  const chosen = choose(sql.claims, at, limit - toRollBack.length, new Set(toRollBack), rules, principals)
  // A session with a saga to roll back may have work as well: one lease covers both.
  return [...new Set([...toRollBack, ...chosen])].flatMap(id => {
    const before = sessions.load(id, at)
    if (before === null) return []
    const row = {
      ...before,
      worker_id: request.worker_id,
      epoch: before.epoch + 1,
      lease_until: at + request.ttl,
      lease_at: at,
    }
    sessions.put(row)
    // A holder that shut down cleanly released the lease; one that is still named died with it.
    return [
      {
        session: row,
        epoch: row.epoch,
        abandoned_ms: before.worker_id === null ? null : Math.max(0, at - before.lease_at),
        link: row.parent_id === null ? null : ((sql.link.get(row.org_key, id) ?? null) as StoredLink | null),
      },
    ]
  })
}

/** If all waiting sessions fit, nothing needs to be counted. */
function choose(
  sql: ClaimSql,
  at: number,
  places: number,
  taken: ReadonlySet<string>,
  rules: ClaimRules,
  principals: Round,
): string[] {
  if (places <= 0) return []
  const orphaned = (sql.orphaned.all(at) as WaitingTurn[]).filter(each => !taken.has(each.id))
  const first = sql.queued.all(places + 1) as WaitingTurn[]
  const few = [...orphaned, ...first]
  if (few.length <= places && !isLimited(few, rules)) return chooseFairly(few, [], places, rules).map(toId)
  const running = sql.running.all(at) as RunningTurn[]
  const queued = first.length <= places ? first : pollByPrincipal(sql, places, running, rules, principals)
  return chooseFairly([...orphaned, ...queued], running, places, rules).map(toId)
}
const toId = ({ id }: WaitingTurn): string => id

/** Picks as many sessions of each principal as it may get: roots, and children whose trees have capacity. */
function pollByPrincipal(
  sql: ClaimSql,
  places: number,
  running: readonly RunningTurn[],
  rules: ClaimRules,
  principals: Round,
): WaitingTurn[] {
  const found: WaitingTurn[] = []
  const trees = countBy(running, each => each.root_id)
  const runs = countBy(running, each => (isRun(each) ? each.created_by : null))
  for (const principal of nextPrincipals(sql, principals)) {
    const { org_key, created_by } = principal
    found.push(...(sql.queuedRoots.all(org_key, created_by, places) as WaitingTurn[]))
    if (rules.children !== 0) found.push(...childrenWithRoom(sql, principal, places, { trees, runs }, rules))
  }
  return found
}

function childrenWithRoom(
  sql: ClaimSql,
  { org_key, created_by }: Principal,
  places: number,
  { trees, runs }: { trees: Map<string, number>; runs: Map<string, number> },
  { tree_parallel, principal_runs }: ClaimRules,
): WaitingTurn[] {
  const found: WaitingTurn[] = []
  for (const row of sql.queuedChildren.iterate(org_key, created_by)) {
    const turn = row as WaitingTurn
    const root = turn.root_id ?? ''
    const inTree = trees.get(root) ?? 0
    if (inTree >= least(tree_parallel)) continue
    if (isRun(turn)) {
      const running = runs.get(created_by) ?? 0
      if (running >= least(principal_runs)) continue
      runs.set(created_by, running + 1)
    }
    trees.set(root, inTree + 1)
    found.push(turn)
    if (found.length >= places) break
  }
  return found
}

/** All waiting principals, or the next batch of them in a round-robin. */
function nextPrincipals(sql: ClaimSql, principals: Round): Principal[] {
  const found: Principal[] = []
  const look = (after: Principal, upTo: Principal | null): void => {
    for (let last = after; found.length < MAX_PRINCIPALS;) {
      const next = sql.nextPrincipal.get(last.org_key, last.created_by) as Principal | undefined
      if (next === undefined || (upTo !== null && isAfter(next, upTo))) return
      last = next
      found.push(last)
    }
  }
  look(principals.after, null)
  if (principals.after !== FIRST) look(FIRST, principals.after)
  principals.after = found.length < MAX_PRINCIPALS ? FIRST : (found.at(-1) ?? FIRST)
  return found
}

export function renew(sessions: SessionCache, request: Of<'renew'>): string[] {
  const lost: string[] = []
  for (const lease of request.leases) {
    const row = sessions.load(lease.session_id, request.at)
    if (row === null || row.worker_id !== request.worker_id || row.epoch !== lease.epoch)
      lost.push(lease.session_id)
    else sessions.put({ ...row, lease_until: request.at + request.ttl, lease_at: request.at })
  }
  return lost
}

/**
 * Releases a lease; returns whether the session has work left. A lease that is no longer held by the caller
 * stays unchanged.
 */
export function release(sessions: SessionCache, request: Of<'release'>): boolean {
  const row = sessions.load(request.session_id, request.at)
  if (row === null || row.worker_id !== request.fence.worker_id || row.epoch !== request.fence.epoch)
    return false
  sessions.put({ ...row, worker_id: null, lease_until: 0 })
  return hasWork(row)
}
