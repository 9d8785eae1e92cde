/** The routes of Claude Managed Agents: base URL `/compat/anthropic`, to which its clients add `/v1/…`. */
import type { SessionRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { z } from 'zod'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import { parseBody } from '../request/body.ts'
import { streamOf } from '../request/sse.ts'
import { handleAgents, handleEnvironments } from './agents.ts'
import { unsupported } from './errors.ts'
import type { Frame } from './events.ts'
import { followEvents, listOf, pageOf, pageQuery, parsePosition, positionAfter } from './history.ts'
import { planEvents, sendPlanned } from './send.ts'
import { archiveOne, createOne, listAll, loadSession, shownSession, updateOne } from './sessions.ts'

export const MANAGED_AGENTS = '/compat/anthropic/v1/'

/** Resources of their API that Cairn has not, with what there is instead. */
export const REFUSED_RESOURCES: Record<string, string> = {
  vaults: 'Credentials are part of the configuration.',
  memory_stores: 'Memory belongs to an agent, and is changed by it.',
  files: 'Files are in the workspace of a session: /v1/sessions/{id}/workspace/file.',
  skills: 'Skills are part of the configuration.',
  deployments: 'Schedules begin sessions: /v1/schedules.',
  deployment_runs: 'Schedules begin sessions: /v1/schedules.',
  dreams: 'Memory is reviewed by the agent.',
  tunnels: 'The runner needs none.',
  messages: 'This is the API of agents: a model is called by its own server.',
}

const json = (value: unknown): Response => Response.json(value, { headers: { 'cache-control': 'no-store' } })
const Send = z.looseObject({ events: z.array(z.unknown()).min(1).max(50) })

export async function handleManagedAgents(deps: CompatDeps, request: CallerRequest): Promise<Response> {
  if (request.caller.by === 'cookie')
    throw new AppError('unauthenticated', 'Send a token: this API does not use the login of the web UI.')
  const [head = '', ...rest] = request.path.slice(MANAGED_AGENTS.length).split('/')
  if (head === 'sessions') return handleSessions(deps, request, rest)
  if (head === 'agents') return handleAgents(deps, request, rest)
  if (head === 'environments') return handleEnvironments(request, rest)
  const why = REFUSED_RESOURCES[head]
  if (why !== undefined) throw new AppError('not_found', `${head}: not supported. ${why}`)
  throw unknownRoute(request)
}

const unknownRoute = ({ method, path }: CallerRequest): AppError =>
  new AppError('not_found', `Unknown request: ${method} ${path.slice(0, 200)}.`)

async function handleSessions(
  deps: CompatDeps,
  request: CallerRequest,
  [id, part, ...more]: string[],
): Promise<Response> {
  const { method, caller } = request
  if (id === undefined) {
    if (method === 'POST') return json(shownSession(deps, await createOne(deps, request)))
    if (method === 'GET') return json(await listAll(deps, request))
    throw unknownRoute(request)
  }
  const session = await loadSession(deps, caller.principal, id)
  if (part === 'events') return handleEvents(deps, request, session, more)
  if (part === 'resources' || part === 'threads')
    throw new AppError('not_found', `${part}: not supported. ${PARTS[part]}`)
  if (part === 'archive' && method === 'POST' && more.length === 0)
    return json(shownSession(deps, await archiveOne(deps, session)))
  if (part !== undefined) throw unknownRoute(request)
  if (method === 'GET') return json(shownSession(deps, session))
  if (method === 'POST') return json(shownSession(deps, await updateOne(deps, request, session)))
  if (method === 'DELETE') throw unsupported('delete', 'The log keeps a session: archive it.')
  throw unknownRoute(request)
}

const PARTS = {
  resources: 'Files are in the workspace: /v1/sessions/{id}/workspace/file.',
  threads: 'A worker is a session of its own: sesn_ and the id after sthr_.',
}

async function handleEvents(
  deps: CompatDeps,
  request: CallerRequest,
  session: SessionRow,
  more: string[],
): Promise<Response> {
  const { method, query, raw } = request
  const [part, ...others] = more
  if (others.length > 0) throw unknownRoute(request)
  if (part === 'stream' && method === 'GET') return stream(deps, request, session)
  if (part !== undefined) throw unknownRoute(request)
  if (method === 'GET') return json(await pageOf(deps, session.id, pageQuery(query)))
  if (method !== 'POST') throw unknownRoute(request)
  const { events, ...unknown } = parseBody(Send, raw)
  const [other] = Object.keys(unknown)
  if (other !== undefined) throw unsupported(other, 'It is not known.')
  const plans = planEvents(events, { isNew: false })
  return json({ data: await sendPlanned(deps, request, session, plans) })
}

/** Live from now; `after` or Last-Event-ID continues after a cut, which their API has no way to ask for. */
function stream(deps: CompatDeps, { query, headers }: CallerRequest, session: SessionRow): Response {
  const after = query.get('after') ?? headers.get('last-event-id')
  const seen = after === null ? positionAfter(session.last_event_id) : parsePosition('after', after)
  const previews = listOf(query, 'event_deltas')
  const unknown = previews.find(type => type !== 'agent.message' && type !== 'agent.thinking')
  if (unknown !== undefined)
    throw unsupported(`event_deltas '${unknown.slice(0, 100)}'`, 'Messages and thinking have previews.')
  const leave = new AbortController()
  return streamOf(sseFrames(followEvents(deps, session.id, { seen, previews }, leave.signal)), leave)
}

async function* sseFrames(pages: AsyncGenerator<Frame[]>): AsyncGenerator<string> {
  for await (const frames of pages)
    yield frames
      .map(({ position, data }) => `id: ${position}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
      .join('')
}
