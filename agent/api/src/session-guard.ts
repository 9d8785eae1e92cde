/**
 * The one check in front of sessions and inbox items: who may not see one is told that it does not exist
 * (contract 4).
 *
 * Owner and organisation of a session never change, so they are remembered; the streaming, polling and
 * appending of a busy session ask the store nothing to know whose it is.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import { AppError, type Principal } from '@cairn/protocol'
import { findSession, mayAccess, type Owned } from '@cairn/sessions'

const CAPACITY = 50_000
/** Names of sessions are chosen here; whatever is longer was never one. */
const MAX_ID = 128

export type SessionGuard = {
  /** Passes or throws not_found. */
  check(principal: Principal, sessionId: string): undefined | Promise<undefined>
  load(principal: Principal, sessionId: string): Promise<SessionRow>
}

export function createSessionGuard(store: LogStore): SessionGuard {
  const owners = new Map<string, Owned>()

  async function find(principal: Principal, sessionId: string): Promise<SessionRow> {
    if (sessionId.length > MAX_ID) throw new AppError('not_found', 'There is no such session.')
    const session = await findSession(store, principal, sessionId)
    if (owners.size >= CAPACITY) owners.clear()
    owners.set(sessionId, { org_id: session.org_id, created_by: session.created_by })
    return session
  }

  return {
    check(principal, sessionId) {
      const owned = owners.get(sessionId)
      if (owned === undefined) return find(principal, sessionId).then(() => undefined)
      if (!mayAccess(principal, owned)) throw new AppError('not_found', `There is no session ${sessionId}.`)
      return undefined
    },
    load: find,
  }
}
