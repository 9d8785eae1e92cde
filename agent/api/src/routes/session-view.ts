/** Stored rows as the API shows them. */
import {
  sharesOf,
  type SessionTree,
  type LogStore,
  type ServiceAccountRow,
  type SessionRow,
  type ShapeState,
  type UserRow,
} from '@cairn/log'
import type { AnswerOf, Session } from '@cairn/protocol'

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

/** Keys are listed one by one, so that an unlisted one is never exposed. */
const shown = (row: SessionRow, family: SessionTree): Session => ({
  id: row.id,
  agent: row.agent,
  channel: row.channel,
  status: row.status,
  state: row.state,
  waiting_on: row.waiting_on,
  title: row.title,
  model: row.model,
  parent_id: row.parent_id,
  root_id: family.root_id,
  depth: family.depth,
  open_children: family.open_children,
  children_cost_usd: family.children_cost_usd,
  last_event_id: row.last_event_id,
  message_count: row.message_count,
  tool_call_count: row.tool_call_count,
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cost_usd: row.cost_usd,
  unpriced: row.unpriced,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

type Store = { store: LogStore }
/** Includes each session's position in its tree, read in one query for all. */
export async function shownSessions({ store }: Store, rows: readonly SessionRow[]): Promise<Session[]> {
  const families = await store.links.trees(rows.map(row => row.id))
  return rows.map((row, at) => shown(row, families[at] as SessionTree))
}
export async function shownSession(services: Store, row: SessionRow): Promise<Session> {
  const [session] = await shownSessions(services, [row])
  return session as Session
}

/** Includes the shape and the last step, which lag by a few moments. */
export async function shapedSessions(
  services: Store,
  rows: readonly SessionRow[],
): Promise<{ session: Session; shape: ShapeState | undefined }[]> {
  const shapes = await services.store.search.shapes(rows.map(row => row.id))
  const sessions = await shownSessions(services, rows)
  return sessions.map((session, at) => {
    const shape = shapes.get(session.id)
    if (shape === undefined) return { session: { ...session, shape: [], last_step: null }, shape }
    const updated = rows[at]?.updated_at ?? 0
    return { session: { ...session, shape: sharesOf(shape, updated), last_step: shape.step }, shape }
  })
}

export type SessionNode = AnswerOf<'sessionTree'>['nodes'][number]
/** The nodes in the given order, each with the position that its row states. */
export async function shownNodes({ store }: Store, rows: readonly SessionRow[]): Promise<SessionNode[]> {
  const families = await store.links.trees(rows.map(row => row.id))
  return rows.map((row, at) => shownNode(row, families[at] as SessionTree))
}
const shownNode = (row: SessionRow, { root_id, depth }: SessionTree): SessionNode => ({
  id: row.id,
  parent_id: row.parent_id,
  root_id,
  depth,
  agent: row.agent,
  channel: row.channel,
  status: row.status,
  title: row.title,
  created_at: iso(row.created_at),
})

export const shownAccount = (
  row: ServiceAccountRow,
): AnswerOf<'listServiceAccounts'>['service_accounts'][number] => ({
  id: row.id,
  name: row.name,
  scope: row.scope,
  token_prefix: row.token_prefix,
  created_at: iso(row.created_at),
  expires_at: isoOrNull(row.expires_at),
  revoked_at: isoOrNull(row.revoked_at),
  last_used_at: isoOrNull(row.last_used_at),
})

export const shownUser = (row: UserRow): AnswerOf<'listUsers'>['users'][number] => ({
  id: row.id,
  email: row.email,
  name: row.name,
  admin: row.admin,
  created_at: iso(row.created_at),
  disabled_at: isoOrNull(row.disabled_at),
})
