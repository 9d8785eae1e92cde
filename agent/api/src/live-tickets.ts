/** Tickets for live views: a page cannot send a token with a WebSocket, and addresses are logged by many. */
import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '@cairn/protocol'

const TICKET_MS = 30_000
const MOST = 10_000

type TicketUser = Pick<Extract<Principal, { kind: 'user' }>, 'id' | 'admin'>
export type LiveTickets = {
  issue(session_id: string, user: TicketUser): { ticket: string; expires_at: number }
  /** Whose it is, once; null: it is spent, late, unknown, or another session's. */
  use(session_id: string, ticket: string): TicketUser | null
}

const hashOf = (ticket: string): string => createHash('sha256').update(ticket).digest('hex')

export function createLiveTickets(now: () => number): LiveTickets {
  const open = new Map<string, { session_id: string; user: TicketUser; expires_at: number }>()
  return {
    issue(session_id, { id, admin }) {
      for (const [hash, { expires_at }] of open) if (expires_at <= now()) open.delete(hash)
      if (open.size >= MOST) open.clear()
      const ticket = randomBytes(32).toString('base64url')
      const expires_at = now() + TICKET_MS
      open.set(hashOf(ticket), { session_id, user: { id, admin }, expires_at })
      return { ticket, expires_at }
    },
    use(session_id, ticket) {
      const hash = hashOf(ticket)
      const found = open.get(hash)
      open.delete(hash)
      return found !== undefined && found.session_id === session_id && found.expires_at > now()
        ? found.user
        : null
    },
  }
}
