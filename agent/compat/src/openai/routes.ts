/** The routes of OpenAI's Responses and Conversations APIs: base URL `/compat/openai/v1`. */
import { AppError } from '@cairn/protocol'
import { agentNames, type CallerRequest, type CompatDeps } from '../deps.ts'
import { stop } from '../request/command.ts'
import { findVisible } from '../request/ids.ts'
import { streamOf } from '../request/sse.ts'
import { handleConversations } from './conversations.ts'
import { createResponse } from './create.ts'
import { notFound, unsupported } from './errors.ts'
import { inputPage } from './history.ts'
import {
  followResponse,
  framesAfter,
  locate,
  parseResponseId,
  readResponse,
  type ResponseObject,
  type ResponseRef,
} from './responses.ts'

export const OPENAI = '/compat/openai/v1/'
/** How long a request without a stream waits for its response. */
const WAIT_MS = 10 * 60 * 1000

const json = (value: unknown): Response => Response.json(value, { headers: { 'cache-control': 'no-store' } })

export async function handleOpenai(deps: CompatDeps, request: CallerRequest): Promise<Response> {
  if (request.caller.by === 'cookie')
    throw new AppError('unauthenticated', 'Send a token: this API does not use the login of the web UI.')
  const [head = '', ...rest] = request.path.slice(OPENAI.length).split('/')
  switch (head) {
    case 'responses':
      return handleResponses(deps, request, rest)
    case 'conversations':
      return handleConversations(deps, request, rest)
    case 'models':
      return handleModels(deps, request, rest)
    default:
      throw unknownRoute(request)
  }
}

const unknownRoute = ({ method, path }: CallerRequest): AppError =>
  new AppError('not_found', `Unknown request URL: ${method} ${path.slice(0, 200)}.`, {
    extra: { openai_code: 'unknown_url' },
  })

async function handleResponses(deps: CompatDeps, request: CallerRequest, rest: string[]): Promise<Response> {
  const { method } = request
  const [id, action, ...more] = rest
  if (id === undefined && method === 'POST') return post(deps, request)
  if (id === undefined || more.length > 0) throw unknownRoute(request)
  const ref = await findResponse(deps, request, id)
  if (action === undefined && method === 'GET') return retrieve(deps, request, ref)
  if (action === undefined && method === 'DELETE')
    throw unsupported('response_id', 'A response cannot be deleted: the log keeps it.')
  if (action === 'cancel' && method === 'POST') return cancel(deps, ref)
  if (action === 'input_items' && method === 'GET') return json(await inputPage(deps, ref, request.query))
  throw unknownRoute(request)
}

async function findResponse(deps: CompatDeps, { caller }: CallerRequest, id: string): Promise<ResponseRef> {
  const parsed = parseResponseId(id)
  const session = parsed === null ? null : await findVisible(deps, caller.principal, parsed.session_id)
  const ref = session === null || parsed === null ? null : await locate(deps, session, parsed.start)
  if (ref === null || ref.start !== parsed?.start) throw notFound('Response', id)
  return ref
}

async function post(deps: CompatDeps, request: CallerRequest): Promise<Response> {
  const { ref, body } = await createResponse(deps, request)
  if (body.stream === true) return stream(deps, ref, 0)
  return json(
    body.background === true ? await snapshot(deps, ref) : await finished(deps, ref, request.signal),
  )
}

async function retrieve(deps: CompatDeps, { query }: CallerRequest, ref: ResponseRef): Promise<Response> {
  if ((query.getAll('include').length || query.getAll('include[]').length) > 0)
    throw unsupported('include', 'Every item is complete.')
  if (query.get('stream') !== 'true') return json(await snapshot(deps, ref))
  const after = query.get('starting_after') ?? '0'
  if (!/^\d{1,16}$/.test(after) || !Number.isSafeInteger(Number(after)))
    throw new AppError('bad_request', 'Invalid starting_after: must be a sequence_number of this response.', {
      extra: { param: 'starting_after' },
    })
  return stream(deps, ref, Number(after))
}

async function cancel(deps: CompatDeps, ref: ResponseRef): Promise<Response> {
  const { status } = await snapshot(deps, ref)
  if (status === 'in_progress') await stop(deps, ref.session.id)
  return json(await snapshot(deps, ref))
}

async function snapshot(deps: CompatDeps, ref: ResponseRef): Promise<ResponseObject> {
  const response = await readResponse(deps, ref)
  if (response === null) throw new Error(`[openai] response ${ref.start} of ${ref.session.id} did not begin`)
  return response
}

/** The response once it is over, or as far as it is after ten minutes. */
async function finished(deps: CompatDeps, ref: ResponseRef, gone: AbortSignal): Promise<ResponseObject> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(WAIT_MS)])
  for await (const { response, isOver } of followResponse(deps, ref, signal)) if (isOver) return response()
  return snapshot(deps, ref)
}

function stream(deps: CompatDeps, ref: ResponseRef, after: number): Response {
  const leave = new AbortController()
  return streamOf(eventFrames(deps, ref, after, leave.signal), leave)
}

async function* eventFrames(
  deps: CompatDeps,
  ref: ResponseRef,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const { frames } of followResponse(deps, ref, signal)) {
    let text = ''
    for (const { position, data } of framesAfter(frames, after))
      text += `id: ${position}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
    if (text !== '') yield text
  }
}

function handleModels(deps: CompatDeps, request: CallerRequest, rest: string[]): Response {
  const [id, ...more] = rest
  if (request.method !== 'GET' || more.length > 0) throw unknownRoute(request)
  const models = agentNames(deps).map(name => ({ id: name, object: 'model', created: 0, owned_by: 'cairn' }))
  if (id === undefined) return json({ object: 'list', data: models })
  const found = models.find(model => model.id === id)
  if (found === undefined) throw notFound('Model', id)
  return json(found)
}
