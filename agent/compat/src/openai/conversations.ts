/** Conversations of OpenAI's API: each is a session. */
import type { SessionRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { archiveSession } from '@cairn/sessions'
import { z } from 'zod'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import { parseBody } from '../request/body.ts'
import { undashed } from '../request/ids.ts'
import { createConversation, loadConversation } from './create.ts'
import { notFound, unsupported } from './errors.ts'
import { findItem, itemsPage } from './history.ts'

const Create = z.looseObject({
  items: z.array(z.unknown()).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
})

const json = (value: unknown): Response => Response.json(value, { headers: { 'cache-control': 'no-store' } })

export async function handleConversations(
  deps: CompatDeps,
  request: CallerRequest,
  rest: string[],
): Promise<Response> {
  const { method, query, caller } = request
  const [id, part, item, ...more] = rest
  if (id === undefined && method === 'POST') return create(deps, request)
  if (id === undefined || more.length > 0 || (part !== undefined && part !== 'items')) throw unknown(request)
  const session = await loadConversation(deps, caller.principal, id)
  if (part === undefined) {
    if (method === 'GET') return json(shown(session))
    if (method === 'POST') throw unsupported('metadata', 'The metadata of a conversation does not change.')
    if (method !== 'DELETE') throw unknown(request)
    await archiveSession(deps, session)
    return json({ id, object: 'conversation.deleted', deleted: true })
  }
  if (method !== 'GET')
    throw unsupported('items', 'The items of a conversation are its log: send a response.')
  if (item === undefined) return json(await itemsPage(deps, session, query))
  const found = await findItem(deps, session.id, item)
  if (found === null) throw notFound('Item', item)
  return json(found)
}

const unknown = ({ method, path }: CallerRequest): AppError =>
  new AppError('not_found', `Unknown request URL: ${method} ${path.slice(0, 200)}.`, {
    extra: { openai_code: 'unknown_url' },
  })

/** The agent is fixed from the beginning: `metadata.agent` names it. */
async function create(deps: CompatDeps, { raw, caller }: CallerRequest): Promise<Response> {
  const { items, metadata, ...others } = raw.length === 0 ? {} : parseBody(Create, raw)
  const [other] = Object.keys(others)
  if (other !== undefined) throw unsupported(other, 'It is not known.')
  if (items && items.length > 0) throw unsupported('items', 'A conversation begins empty: send a response.')
  const { agent, ...rest } = metadata ?? {}
  const [key] = Object.keys(rest)
  if (key !== undefined)
    throw unsupported(`metadata.${key}`, 'Only metadata.agent is known: it names the agent.')
  const session = await createConversation(
    deps,
    caller.principal,
    agent === undefined ? {} : { model: agent },
  )
  return json(shown(session))
}

const shown = ({ id, created_at, agent }: SessionRow) => ({
  id: `conv_${undashed(id)}`,
  object: 'conversation',
  created_at: Math.floor(created_at / 1000),
  metadata: { agent },
})
