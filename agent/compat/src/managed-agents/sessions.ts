/** Sessions of Claude Managed Agents. */
import type { SessionRow } from '@cairn/log'
import type { Principal, SessionStatus } from '@cairn/protocol'
import { archiveSession, createSession, renameSession, visibleTo } from '@cairn/sessions'
import { z } from 'zod'
import { agentNames, type CallerRequest, type CompatDeps } from '../deps.ts'
import { parseBody } from '../request/body.ts'
import { findVisible } from '../request/ids.ts'
import { findRepeated } from '../request/retry.ts'
import { agentOf, ENVIRONMENT, shownAgent } from './agents.ts'
import { notFound, unsupported } from './errors.ts'
import { listOf, rangeOf } from './history.ts'
import { planEvents, sendPlanned } from './send.ts'

const API = 'managed-agents'
const PREFIX = 'sesn_'

const Create = z.looseObject({
  agent: z.union([
    z.string(),
    z.looseObject({ type: z.string(), id: z.string(), version: z.int().optional() }),
  ]),
  environment_id: z.string(),
  title: z.string().max(256).nullish(),
  initial_events: z.array(z.unknown()).max(50).nullish(),
})

/** Fields of a session that are refused unless they are empty, with the reason. */
export const REFUSED_FIELDS: Record<string, string> = {
  budget: 'The budget is part of the configuration of the agent.',
  metadata: 'A session has no metadata of a client.',
  resources: 'Upload files with POST /v1/sessions/{id}/workspace/file.',
  vault_ids: 'Credentials are part of the configuration.',
  agent: 'The agent of a session does not change.',
}

function refuseOthers(body: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(body)) {
    const isEmpty = value === null || value === undefined || ['[]', '{}'].includes(JSON.stringify(value))
    if (!known.includes(name) && !isEmpty) throw unsupported(name, REFUSED_FIELDS[name] ?? 'It is not known.')
  }
}

/** The session; one of another person is answered like one that does not exist. */
export async function loadSession(
  deps: Pick<CompatDeps, 'store'>,
  principal: Principal,
  id: string,
): Promise<SessionRow> {
  const session = id.startsWith(PREFIX) ? await findVisible(deps, principal, id.slice(PREFIX.length)) : null
  if (session === null) throw notFound('Session', id)
  return session
}

export async function createOne(deps: CompatDeps, request: CallerRequest): Promise<SessionRow> {
  const { principal } = request.caller
  const body = parseBody(Create, request.raw)
  refuseOthers(body, Object.keys(Create.shape))
  const { agent, environment_id, title, initial_events } = body
  if (typeof agent === 'object' && agent.type !== 'agent')
    throw unsupported(`agent.type '${agent.type.slice(0, 100)}'`, 'Name an agent of the configuration.')
  const name = agentOf(deps, typeof agent === 'string' ? agent : agent.id)
  if (typeof agent === 'object' && agent.version !== undefined) checkVersion(deps, name, agent.version)
  if (environment_id !== ENVIRONMENT) throw notFound('Environment', environment_id)
  const plans = planEvents(initial_events ?? [], { isNew: true })
  const repeated = await findRepeated(deps, request, { session: null, channel: API })
  if (repeated !== null) return repeated.session
  const session = await createSession(deps, agentNames(deps), {
    agent: name,
    channel: API,
    principal,
    ...(title ? { title } : {}),
  })
  if (plans.length > 0) await sendPlanned(deps, request, session, plans)
  return (await deps.store.sessions.get(session.id)) ?? session
}

function checkVersion(deps: CompatDeps, name: string, version: number): void {
  const current = shownAgent(deps, name).version
  if (version !== current)
    throw unsupported('agent.version', `The configuration has version ${current} only.`)
}

export async function updateOne(
  deps: CompatDeps,
  { raw }: CallerRequest,
  session: SessionRow,
): Promise<SessionRow> {
  const body = parseBody(z.looseObject({ title: z.string().min(1).max(256).nullish() }), raw)
  refuseOthers(body, ['title'])
  return body.title ? renameSession(deps, session.id, body.title) : session
}

export async function archiveOne(deps: CompatDeps, session: SessionRow): Promise<SessionRow> {
  await archiveSession(deps, session)
  return (await deps.store.sessions.get(session.id)) ?? session
}

const STATUSES = ['running', 'idle', 'terminated', 'rescheduling'] as const
type Status = (typeof STATUSES)[number]
const UNARCHIVED: readonly SessionStatus[] = ['active', 'paused', 'completed', 'failed']

/** Newest first; a page is filtered by status after it is read, so it may be short. */
export async function listAll(deps: CompatDeps, { caller: { principal }, query }: CallerRequest) {
  for (const name of ['memory_store_id', 'deployment_id', 'agent_version'])
    if (query.has(name)) throw unsupported(name, 'Sessions have no such property.')
  if (query.get('order') === 'asc') throw unsupported("order 'asc'", 'Sessions are listed newest first.')
  const agent = query.get('agent_id')
  const cursor = query.get('page')
  const limit = Math.min(Math.max(Number(query.get('limit') ?? 20) || 20, 1), 100)
  const { sessions, next_cursor } = await deps.store.sessions.list({
    ...visibleTo(principal),
    parent_id: null,
    limit,
    ...(query.get('include_archived') === 'true' ? {} : { status: UNARCHIVED }),
    ...(agent === null ? {} : { agent: [agentOf(deps, agent)] }),
    ...(cursor === null ? {} : { cursor }),
  })
  const { from, before } = rangeOf(query)
  const statuses = listOf(query, 'statuses')
  const data = sessions
    .filter(({ created_at }) => created_at >= from && created_at < before)
    .filter(session => statuses.length === 0 || statuses.includes(statusOf(session)))
    .map(session => shownSession(deps, session))
  return { data, next_page: next_cursor, prev_page: null }
}

const statusOf = ({ status, state }: SessionRow): Status =>
  status === 'archived' ? 'terminated' : state === 'running' ? 'running' : 'idle'

export function shownSession(deps: CompatDeps, session: SessionRow) {
  const { id, agent, title, status, created_at, updated_at, input_tokens, output_tokens, cost_usd } = session
  const updated = new Date(updated_at).toISOString()
  return {
    type: 'session',
    id: `${PREFIX}${id}`,
    agent: shownAgent(deps, agent),
    environment_id: ENVIRONMENT,
    title,
    status: statusOf(session),
    created_at: new Date(created_at).toISOString(),
    updated_at: updated,
    archived_at: status === 'archived' ? updated : null,
    metadata: {},
    resources: [],
    vault_ids: [],
    budget: null,
    outcome_evaluations: [],
    stats: { duration_seconds: Math.round((updated_at - created_at) / 1000) },
    usage: {
      input_tokens,
      output_tokens,
      cache_read_input_tokens: 0,
      // In cents.
      list_cost: { amount: String(Math.ceil(cost_usd * 100)), currency: 'USD' },
    },
  }
}
