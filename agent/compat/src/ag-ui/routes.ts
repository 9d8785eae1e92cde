/** The routes of AG-UI: `HttpAgent({url: '/compat/ag-ui/{agent}'})`. */
import { AppError } from '@cairn/protocol'
import { agentNames, type CallerRequest, type CompatDeps } from '../deps.ts'
import { parseBody } from '../request/body.ts'
import { stop } from '../request/command.ts'
import { findNamed } from '../request/ids.ts'
import { streamOf } from '../request/sse.ts'
import type { AgUiEvent } from './events.ts'
import { readHistory } from './messages.ts'
import { API, ignoredFields, refuseFields, RunInput, startRun } from './request.ts'
import { runEvents } from './run.ts'

export const AG_UI = '/compat/ag-ui/'

export async function handleAgUi(deps: CompatDeps, request: CallerRequest): Promise<Response> {
  const { method, path } = request
  const [agent = '', head, thread, tail, ...more] = path.slice(AG_UI.length).split('/').map(decodePart)
  if (!agentNames(deps).includes(agent))
    throw new AppError('not_found', `Agent ${JSON.stringify(agent.slice(0, 100))} not found.`)
  if (head === undefined) {
    if (method !== 'POST') throw notAllowed(method, 'POST')
    return postRun(deps, request, agent)
  }
  if (head !== 'threads' || thread === undefined || more.length > 0 || ![undefined, 'run'].includes(tail))
    throw new AppError('not_found', `Unknown route ${path.slice(0, 200)}.`)
  const allowed = tail === undefined ? 'GET' : 'DELETE'
  if (method !== allowed) throw notAllowed(method, allowed)
  return tail === undefined ? getThread(deps, request, thread) : stopRun(deps, request, thread)
}

const notAllowed = (method: string, allowed: string): AppError =>
  new AppError('method_not_allowed', `Method ${method} not allowed. Allowed: ${allowed}.`)

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    throw new AppError('bad_request', `Invalid id ${JSON.stringify(part.slice(0, 100))}.`, { cause: error })
  }
}

async function postRun(
  deps: CompatDeps,
  { raw, caller: { principal } }: CallerRequest,
  agent: string,
): Promise<Response> {
  const input = parseBody(RunInput, raw)
  refuseFields(input)
  const ref = await startRun(deps, principal, agent, input)
  const { threadId, runId, messages: held } = input
  const run = { ref, threadId, runId, held, ignored: ignoredFields(input) }
  const leave = new AbortController()
  return streamOf(sseFrames(runEvents(deps, run, leave.signal)), leave)
}

async function* sseFrames(pages: AsyncGenerator<AgUiEvent[]>): AsyncGenerator<string> {
  for await (const events of pages)
    if (events.length > 0) yield events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
}

/** The messages for the first render, as far as they are. */
async function getThread(deps: CompatDeps, { caller }: CallerRequest, thread: string): Promise<Response> {
  const { session } = await findNamed(deps, caller.principal, API, thread)
  if (session === null) throw new AppError('not_found', 'Thread not found.')
  const { messages, state } = await readHistory(deps, session.id, session.last_event_id)
  return Response.json(
    { messages: messages.all, state, status: session.state },
    { headers: { 'cache-control': 'no-store' } },
  )
}

async function stopRun(deps: CompatDeps, { caller }: CallerRequest, thread: string): Promise<Response> {
  const { session } = await findNamed(deps, caller.principal, API, thread)
  if (session === null) throw new AppError('not_found', 'Thread not found.')
  return Response.json({ stopped: await stop(deps, session.id) })
}
