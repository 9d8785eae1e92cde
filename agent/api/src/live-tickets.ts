/** Tickets for live views: a page cannot send a token with a WebSocket, and URLs end up in many logs. */
import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '@cairn/protocol'
import type { Identity } from './auth/authenticate.ts'

const TICKET_MS = 30_000
const MAX_TICKETS = 10_000

/** The user of a live view, and the login whose end closes it. */
export type LiveViewer = {
  identity: Identity
  person: Pick<Extract<Principal, { kind: 'user' }>, 'id' | 'admin'>
}
export type LiveTickets = {
  issue(session_id: string, viewer: LiveViewer): { ticket: string; expires_at: number }
  /** Redeems a ticket once. Null if it is used, expired, unknown, or for another session. */
  use(session_id: string, ticket: string): LiveViewer | null
}

const hashOf = (ticket: string): string => createHash('sha256').update(ticket).digest('hex')

export function createLiveTickets(now: () => number): LiveTickets {
  const open = new Map<string, { session_id: string; viewer: LiveViewer; expires_at: number }>()
  return {
    issue(session_id, viewer) {
      for (const [hash, { expires_at }] of open) if (expires_at <= now()) open.delete(hash)
      if (open.size >= MAX_TICKETS) open.clear()
      const ticket = randomBytes(32).toString('base64url')
      const expires_at = now() + TICKET_MS
      open.set(hashOf(ticket), { session_id, viewer, expires_at })
      return { ticket, expires_at }
    },
    use(session_id, ticket) {
      const hash = hashOf(ticket)
      const found = open.get(hash)
      open.delete(hash)
      return found !== undefined && found.session_id === session_id && found.expires_at > now()
        ? found.viewer
        : null
    },
  }
}
