/** Sessions: create, list, read, rename, archive, and their session tree. */
import type { SessionRow } from '@cairn/log'
import { AppError, type Config, SESSION_STATUSES } from '@cairn/protocol'
import {
  agentNamesOf,
  archiveSession as archive,
  budgetOf,
  createSession as create,
  DEFAULT_AGENT,
  mayAccess,
  renameSession as rename,
  restoreSession as restore,
  visibleTo,
} from '@cairn/sessions'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { configOf } from '../settings.ts'
import { pageLimit } from './page-limit.ts'
import { markPinned, putPinsFirst } from './pinned-sessions.ts'
import { filtersOf } from './session-filters.ts'
import { shapedSessions, shownNodes, shownSession, shownSessions } from './session-view.ts'

export const agentNames = async (services: Services, of: { org_id: string }): Promise<string[]> =>
  agentNamesOf((await configOf(services, of)).config)

export const createSession: Handler<'createSession'> = async ({ services, principal, body }) => {
  const { config } = await configOf(services, principal)
  refuseUnpriced(config, body)
  const agents = await agentNames(services, principal)
  return shownSession(services, await create(services, agents, { ...body, principal }))
}

/** A budget in USD can only be enforced with a model that has a price. */
function refuseUnpriced(config: Config, { agent, config: own = {} }: Created): void {
  if (budgetOf({ config: own })?.max_cost_usd === undefined) return
  const model = own['model'] ?? config.agents[agent ?? DEFAULT_AGENT]?.model ?? config.models.default
  const rates = config.models.catalog[String(model)]
  if (rates?.input !== undefined && rates.output !== undefined) return
  const message = `model ${String(model)} has no price in models.catalog: a budget in USD cannot be enforced`
  throw new AppError('invalid_body', `config: config.budget.max_cost_usd: ${message}`, {
    extra: { errors: [{ path: 'config.budget.max_cost_usd', message }] },
  })
}
type Created = { agent?: string | undefined; config?: Record<string, unknown> | undefined }

export const listSessions: Handler<'listSessions'> = async ({ services, principal, query }) => {
  const { text = '', cursor } = query
  const { sessions: listed, next_cursor } = await services.store.sessions.list({
    ...visibleTo(principal),
    ...filtersOf(query),
    limit: pageLimit(query.limit),
    ...(cursor === undefined ? {} : { cursor }),
    ...(text.trim() === '' ? {} : { text, sort: 'created' }),
  })
  const { sessions, pins } =
    query.pins === 'first' && principal.kind === 'user'
      ? await putPinsFirst(services, principal, query, listed)
      : { sessions: listed, pins: new Set<string>() }
  const shown =
    query.shape === 'true'
      ? (await shapedSessions(services, sessions)).map(({ session }) => session)
      : await shownSessions(services, sessions)
  return { sessions: shown.map(session => markPinned(session, pins)), next_cursor }
}

export const getSession: Handler<'getSession'> = async ({ services, principal, params }) =>
  shownSession(services, await services.guard.load(principal, params.id))

export const renameSession: Handler<'renameSession'> = async ({ services, principal, params, body }) => {
  await services.guard.check(principal, params.id)
  return shownSession(services, await rename(services, params.id, body.title))
}

export const archiveSession: Handler<'archiveSession'> = async ({ services, principal, params }) => {
  await archive(services, await services.guard.load(principal, params.id))
  return undefined
}

export const restoreSession: Handler<'restoreSession'> = async ({ services, principal, params }) =>
  shownSession(services, await restore(services, await services.guard.load(principal, params.id)))

/** Larger trees are truncated: they are unreadable, and a cycle in the data must not hang the server. */
const MAX_NODES = 1000

async function childrenOf({ store }: Services, parent: SessionRow): Promise<SessionRow[]> {
  const children: SessionRow[] = []
  for (let cursor: string | null | undefined; cursor !== null && children.length < MAX_NODES;) {
    const page = await store.sessions.list({
      org_id: parent.org_id,
      parent_id: parent.id,
      status: SESSION_STATUSES,
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    })
    children.push(...page.sessions)
    cursor = page.next_cursor
  }
  return children.toReversed()
}

export const sessionChildren: Handler<'sessionChildren'> = async ({ services, principal, params }) => {
  const session = await services.guard.load(principal, params.id)
  const children = await childrenOf(services, session)
  const visible = children.filter(child => mayAccess(principal, child))
  return { children: await shownNodes(services, visible) }
}

export const sessionTree: Handler<'sessionTree'> = async ({ services, principal, params }) => {
  let root = await services.guard.load(principal, params.id)
  // Climbs to the root, or as far as the principal may see.
  for (let steps = 0; root.parent_id !== null && steps < 100; steps++) {
    const parent = await services.store.sessions.get(root.parent_id)
    if (parent === null || !mayAccess(principal, parent)) break
    root = parent
  }
  const found = new Map<string, SessionRow>()
  async function visit(session: SessionRow): Promise<void> {
    if (found.has(session.id) || found.size >= MAX_NODES || !mayAccess(principal, session)) return
    found.set(session.id, session)
    for (const child of await childrenOf(services, session)) await visit(child)
  }
  await visit(root)
  return { nodes: await shownNodes(services, [...found.values()]) }
}
