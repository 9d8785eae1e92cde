/** The routes of the Vercel AI SDK: `useChat` with `DefaultChatTransport({api: '/compat/ai-sdk/chat'})`. */
import type { SessionRow } from '@cairn/log'
import { AppError, type EventId, ERRORS } from '@cairn/protocol'
import { exchangesBefore, findExchange, recentMessages, type SentMessage } from '../changes/exchange.ts'
import { saidOf } from '../changes/fold.ts'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import { parseBody } from '../request/body.ts'
import { openSession, say, stop } from '../request/command.ts'
import { findNamed, numberIn } from '../request/ids.ts'
import { streamOf } from '../request/sse.ts'
import { saidParts, userId } from './chunks.ts'
import { createMessageBuilder, type UiMessage } from './messages.ts'
import {
  applyAnswers,
  ChatRequest,
  checkMessages,
  contentOf,
  findSent,
  type Message,
  refuseFields,
} from './request.ts'
import { chunkFrames, chunksSoFar } from './stream.ts'

export const AI_SDK = '/compat/ai-sdk/'
const API = 'ai-sdk'
const CHANNEL = 'ai-sdk'
/** A client whose stream was cut gets the rest of a message that ended in the meantime. */
const REPLAY_MS = 10 * 60 * 1000

export async function handleAiSdk(deps: CompatDeps, request: CallerRequest): Promise<Response> {
  const { method } = request
  const [head, id, tail, ...more] = request.path.slice(AI_SDK.length).split('/')
  if (head !== 'chat' || more.length > 0) throw unknownRoute(request.path)
  if (id === undefined) {
    if (method !== 'POST') throw notAllowed(method, 'POST')
    return post(deps, request)
  }
  const name = decodeId(id)
  if (tail === undefined) {
    if (method !== 'GET') throw notAllowed(method, 'GET')
    return getChat(deps, request, name)
  }
  if (tail !== 'stream') throw unknownRoute(request.path)
  if (method === 'GET') return resume(deps, request, name)
  if (method !== 'DELETE') throw notAllowed(method, 'GET, DELETE')
  return stopChat(deps, request, name)
}

const unknownRoute = (path: string): AppError =>
  new AppError('not_found', `Unknown route ${path.slice(0, 200)}.`)
const notAllowed = (method: string, allowed: string): AppError =>
  new AppError('method_not_allowed', `Method ${method} not allowed. Allowed: ${allowed}.`)

function decodeId(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch (error) {
    throw new AppError('bad_request', `Invalid id ${JSON.stringify(id.slice(0, 100))}.`, { cause: error })
  }
}

const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' }

async function post(deps: CompatDeps, { raw, caller: { principal } }: CallerRequest): Promise<Response> {
  const body = parseBody(ChatRequest, raw)
  if (body.trigger === 'regenerate-message')
    throw new AppError(
      'unsupported',
      'regenerate is not supported: a log is not rewritten. Send a new message.',
    )
  refuseFields(body)
  const last = body.messages.at(-1)
  if (last === undefined || body.messages.some(({ role }) => role === 'system'))
    throw new AppError(
      'unsupported',
      'Messages of the system are not supported: the instructions of an agent are part of its configuration.',
    )
  const { id, session } = await findNamed(deps, principal, API, body.id)
  const sent = session === null ? [] : await sentMessages(deps, session, body.messages)
  // A decision may be about an earlier message than the last.
  const answered = body.messages.find(each => each.role === 'assistant' && each.id === body.messageId) ?? last
  if (answered.role === 'assistant') {
    const exchange = exchangeOf(sent, answered)
    await applyAnswers(deps, principal, { session_id: id, exchange }, answered)
    const steps = answered.parts.filter(({ type }) => type === 'step-start').length
    return stream(deps, { session_id: id, exchange }, steps)
  }
  const known = findSent(sent, last)
  if (known === null) {
    checkMessages(sent, body.messages.slice(0, -1))
    const { content, images } = contentOf(last)
    const opened =
      session ?? (await openSession(deps, principal, { id, channel: CHANNEL, agent: body.agent }))
    const origin = { api: API, message_id: last.id }
    const event = await say(deps, {
      session: opened,
      principal,
      content,
      images,
      origin,
      on_question: 'pass_over',
    })
    const begun = await findExchange(deps.store, id, event)
    if (begun !== null) return stream(deps, { session_id: id, exchange: begun }, 0)
  }
  const exchange = latest(sent)
  if (exchange === null) throw new Error('[ai-sdk] the message of this request is not in the log')
  return stream(deps, { session_id: id, exchange }, 0)
}

/** The messages of the log from the first that the client holds on. */
function sentMessages(
  { store }: CompatDeps,
  session: SessionRow,
  held: readonly Message[],
): Promise<SentMessage[]> {
  const first = held.slice(0, -1).find(({ role }) => role === 'user')?.id
  const answered = held.find(({ role }) => role === 'assistant')?.id
  return recentMessages(
    store,
    session,
    messages =>
      (first === undefined || messages.some(({ event }) => userId(saidOf(event)) === first)) &&
      (answered === undefined || messages.some(({ event }) => `a${event.id}` === answered)),
  )
}

/** The exchange that an assistant's message is of. */
function exchangeOf(sent: readonly SentMessage[], { id }: Message): EventId {
  const exchange = numberIn('a', id)
  if (exchange === null || !sent.some(({ event, begins }) => begins && event.id === exchange))
    throw new AppError('history_differs', `Message ${JSON.stringify(id)} is not in this chat: load it again.`)
  return exchange
}

const latest = (sent: readonly SentMessage[]): EventId | null =>
  sent.findLast(({ begins }) => begins)?.event.id ?? null

function stream(deps: CompatDeps, place: { session_id: string; exchange: EventId }, steps: number): Response {
  const leave = new AbortController()
  return streamOf(chunkFrames(deps, place, steps, leave.signal), leave, HEADERS)
}

/** 204: nothing runs, and nothing ended lately or waits for a person. */
async function resume(deps: CompatDeps, { caller }: CallerRequest, name: string): Promise<Response> {
  const { id, session } = await findNamed(deps, caller.principal, API, name)
  const exchange = session === null ? null : await findExchange(deps.store, id, session.last_event_id)
  if (exchange === null) return new Response(null, { status: 204 })
  const place = { session_id: id, exchange }
  const { ended, ended_at, rests } = await chunksSoFar(deps, place)
  if (rests) return new Response(null, { status: 204 })
  const isOpen = ended === null || ended.open.approvals.length + ended.open.asks.length > 0
  const isRecent = ended_at !== null && deps.now() - Date.parse(ended_at) < REPLAY_MS
  return isOpen || isRecent ? stream(deps, place, 0) : new Response(null, { status: 204 })
}

/** Exchanges of a first render, and at most. */
const SHOWN = 100
const MAX_SHOWN = 1000

/** The latest messages without an answer that is still running, which the stream sends from its beginning. */
async function getChat(deps: CompatDeps, { caller, query }: CallerRequest, name: string): Promise<Response> {
  const limit = query.get('limit') ?? String(SHOWN)
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_SHOWN)
    throw new AppError('bad_request', `Invalid limit: must be between 1 and ${MAX_SHOWN}.`)
  const { id, session } = await findNamed(deps, caller.principal, API, name)
  const shown: UiMessage[][] = []
  const last = session?.last_event_id ?? 0
  for await (const exchange of exchangesBefore(deps.store, id, last)) {
    if (shown.length === Number(limit)) break
    shown.unshift(await messagesOf(deps, { session_id: id, exchange }, shown.length === 0))
  }
  return Response.json(
    { messages: shown.flat(), state: session?.state ?? 'idle' },
    { headers: { 'cache-control': 'no-store' } },
  )
}

async function messagesOf(
  deps: CompatDeps,
  place: { session_id: string; exchange: EventId },
  isLast: boolean,
): Promise<UiMessage[]> {
  const { said, chunks, ended, rests } = await chunksSoFar(deps, place)
  const builder = createMessageBuilder()
  for (const chunk of chunks) builder.take(chunk)
  const user: UiMessage[] =
    said === null ? [] : [{ id: userId(said), role: 'user', parts: saidParts(said, place.session_id) }]
  const isShown = ended !== null || !isLast || rests
  return isShown ? [...user, builder.message()] : user
}

async function stopChat(deps: CompatDeps, { caller }: CallerRequest, name: string): Promise<Response> {
  const { id, session } = await findNamed(deps, caller.principal, API, name)
  if (session === null) throw new AppError('not_found', `${ERRORS.not_found.title}: no such chat.`)
  return Response.json({ stopped: await stop(deps, id) })
}
