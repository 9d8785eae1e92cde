/** The sessions that a person pinned, before the others of a listing. */
import type { SessionRow } from '@cairn/log'
import type { Principal, QueryOf, Session, SessionStatus } from '@cairn/protocol'
import { listSessionMarks, mayAccess } from '@cairn/sessions'
import type { Services } from '../deps.ts'

type Query = { [K in keyof QueryOf<'listSessions'>]?: unknown }

/** A filter says which sessions are wanted, and a pin does not: filtered listings keep their order. */
const FILTERS = ['state', 'agent', 'channel', 'min_cost_usd', 'since', 'until', 'text'] as const
const isFiltered = (query: Query): boolean => FILTERS.some(key => query[key] !== undefined)

type Page = { sessions: SessionRow[]; pins: ReadonlySet<string> }

/** The page with its pinned sessions first. They are on the first page, and not repeated on later ones. */
export async function putPinsFirst(
  services: Services,
  principal: Principal,
  query: Query & { status?: readonly SessionStatus[] | undefined; cursor?: string | undefined },
  listed: SessionRow[],
): Promise<Page> {
  const { pins } = await listSessionMarks(services, principal)
  const known = new Set(pins)
  if (pins.length === 0 || isFiltered(query)) return { sessions: listed, pins: known }
  const others = listed.filter(({ id }) => !known.has(id))
  if (query.cursor !== undefined) return { sessions: others, pins: known }
  const rows = await Promise.all(pins.map(id => services.store.sessions.get(id)))
  const { status } = query
  const first = rows.filter(
    row =>
      row !== null &&
      mayAccess(principal, row) &&
      (status === undefined ? row.status !== 'archived' : status.includes(row.status)),
  ) as SessionRow[]
  return { sessions: [...first, ...others], pins: known }
}

export const markPinned = (session: Session, pins: ReadonlySet<string>): Session =>
  pins.has(session.id) ? { ...session, pinned: true } : session
