/**
 * The one access check for sessions and inbox items: a caller without access gets not_found (contract 4).
 *
 * Owner and organisation of a session never change, so they are cached: streaming, polling and appending to a
 * busy session need no query for them.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import { AppError, type Principal } from '@cairn/protocol'
import { findSession, mayAccess, type Owned } from '@cairn/sessions'

const CAPACITY = 50_000
/** Session ids are assigned here and are shorter, so a longer one cannot exist. */
const MAX_ID = 128

export type SessionGuard = {
  /** Throws not_found unless the principal may access the session. */
  check(principal: Principal, sessionId: string): undefined | Promise<undefined>
  load(principal: Principal, sessionId: string): Promise<SessionRow>
}

export function createSessionGuard(store: LogStore): SessionGuard {
  const owners = new Map<string, Owned>()

  async function find(principal: Principal, sessionId: string): Promise<SessionRow> {
    if (sessionId.length > MAX_ID) throw new AppError('not_found', 'Session not found.')
    const session = await findSession(store, principal, sessionId)
    if (owners.size >= CAPACITY) owners.clear()
    owners.set(sessionId, { org_id: session.org_id, created_by: session.created_by })
    return session
  }

  return {
    check(principal, sessionId) {
      const owned = owners.get(sessionId)
      if (owned === undefined) return find(principal, sessionId).then(() => undefined)
      if (!mayAccess(principal, owned)) throw new AppError('not_found', `Session ${sessionId} not found.`)
      return undefined
    },
    load: find,
  }
}
