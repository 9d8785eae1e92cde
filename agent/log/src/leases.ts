/** Leases inside the writer's transaction: who may act for a session, and until when (contract 8). */
import type { CommitSql } from './commit-sql.ts'
import type { StoredLink } from './links.ts'
import type { SessionCache } from './session-cache.ts'
import { hasWork } from './session-rows.ts'
import type { ClaimAnswer, Request } from './writer-messages.ts'

type Of<K extends Request['do']> = Extract<Request, { do: K }>

/**
 * Sagas to be rolled back, then the oldest work first. Every claim has a new epoch, so whatever the former
 * holder still commits is refused.
 */
export function claim(sql: CommitSql, sessions: SessionCache, request: Of<'claim'>): ClaimAnswer {
  const { at } = request
  const found = [...sql.toRollBack.all(at, request.limit), ...sql.claimable.all(at, request.limit)].map(
    ({ id }) => String(id),
  )
  return [...new Set(found)].slice(0, request.limit).flatMap(id => {
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
    // A holder that ended in order gave the lease back; one that is still named died with it in hand.
    return [
      {
        session: row,
        epoch: row.epoch,
        abandoned_ms: before.worker_id === null ? null : Math.max(0, at - before.lease_at),
        link: row.parent_id === null ? null : ((sql.links.link.get(id) ?? null) as StoredLink | null),
      },
    ]
  })
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
 * Gives a lease back in order; says whether the session has work left. A lease that is no longer this one's
 * stays as it is.
 */
export function release(sessions: SessionCache, request: Of<'release'>): boolean {
  const row = sessions.load(request.session_id, request.at)
  if (row === null || row.worker_id !== request.fence.worker_id || row.epoch !== request.fence.epoch)
    return false
  sessions.put({ ...row, worker_id: null, lease_until: 0 })
  return hasWork(row)
}
