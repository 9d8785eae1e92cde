/** The JSON-RPC binding of the Agent2Agent protocol, version 1.0: `POST /compat/a2a/{agent}`. */
import { AppError, asError, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import { listMessages } from '../changes/exchange.ts'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import { checkValue, parseBody } from '../request/body.ts'
import { stop } from '../request/command.ts'
import { findVisible } from '../request/ids.ts'
import { streamOf } from '../request/sse.ts'
import { A2A, baseOf } from './card.ts'
import { refuse, rpcError } from './errors.ts'
import { findTask, followTask, readTask, type TaskRef } from './follow.ts'
import { sendMessage, SendParams } from './send.ts'
import { isTerminal, type Task } from './tasks.ts'

/** How long SendMessage waits for its task. */
const WAIT_MS = 10 * 60 * 1000

type Id = string | number | null
const Request = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.unknown().optional(),
})
const History = z.int().min(0).nullish()
const TaskParams = z.looseObject({ id: z.string(), historyLength: History, tenant: z.string().optional() })
const ListParams = z.looseObject({
  contextId: z.string().optional(),
  status: z.string().optional(),
  pageSize: z.int().min(1).max(100).nullish(),
  pageToken: z.string().optional(),
  historyLength: History,
  includeArtifacts: z.boolean().nullish(),
  statusTimestampAfter: z.iso.datetime({ offset: true }).nullish(),
})

type Call = { deps: CompatDeps; principal: Principal; agent: string; base: string; signal: AbortSignal }
type Method = (call: Call, params: unknown) => Promise<unknown>

const METHODS: Record<string, Method> = {
  async SendMessage(call, given) {
    const params = checkValue(SendParams, given)
    const ref = await sendMessage(call.deps, call, params)
    const { returnImmediately, historyLength } = params.configuration ?? {}
    const task = returnImmediately === true ? await read(call, ref) : await finished(call, ref)
    return { task: shown(task, historyLength) }
  },
  async GetTask(call, given) {
    const { id, historyLength } = checkValue(TaskParams, given)
    return shown(await read(call, await find(call, id)), historyLength)
  },
  async CancelTask(call, given) {
    const { id } = checkValue(TaskParams, given)
    const ref = await find(call, id)
    if (isTerminal(await read(call, ref)) || !(await stop(call.deps, ref.session.id)))
      throw refuse('TASK_NOT_CANCELABLE', 'Nothing of this task runs.')
    return shown(await read(call, ref))
  },
  ListTasks: listTasks,
}

/** Methods of the protocol that the service does not offer. */
export const REFUSED_METHODS: Record<string, AppError> = {
  GetExtendedAgentCard: refuse('EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'Extended cards are not supported.'),
  ...Object.fromEntries(
    ['Create', 'Get', 'Delete'].map(verb => [`${verb}TaskPushNotificationConfig`, noPush()]),
  ),
  ListTaskPushNotificationConfigs: noPush(),
}
function noPush(): AppError {
  return refuse(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'Push notifications are not supported: subscribe to the task.',
  )
}

const find = ({ deps, principal, agent }: Call, id: string): Promise<TaskRef> =>
  findTask(deps, principal, agent, id)
const read = async ({ deps, base }: Call, ref: TaskRef): Promise<Task> =>
  (await readTask(deps, ref, base)).task

/** The task once it is over or its caller must act, or as far as it is after ten minutes. */
async function finished(call: Call, ref: TaskRef): Promise<Task> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(WAIT_MS)])
  for await (const { task, isOver } of followTask(call.deps, ref, call.base, signal)) if (isOver) return task
  return read(call, ref)
}

/** `historyLength` limits the messages, from the last; absent: all of them. */
function shown(task: Task, historyLength?: number | null): Task {
  if (historyLength === null || historyLength === undefined) return task
  return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) }
}

async function listTasks(call: Call, given: unknown): Promise<unknown> {
  const { contextId, status, pageSize, pageToken, historyLength, includeArtifacts, statusTimestampAfter } =
    checkValue(ListParams, given)
  if (!contextId)
    throw refuse('UNSUPPORTED_OPERATION', 'contextId: required. Tasks are listed by their context.')
  const session = await findVisible(call.deps, call.principal, contextId)
  const firstMessages =
    session === null || session.agent !== call.agent
      ? []
      : (await listMessages(call.deps.store, session.id)).filter(({ begins }) => begins)
  const limit = pageSize ?? 50
  const before = pageToken ? Number(pageToken) : Infinity
  if (Number.isNaN(before)) throw refuse('INVALID_PARAMS', 'pageToken: must be that of an earlier page.')
  const page = firstMessages.filter(({ event }) => event.id < before).slice(-limit)
  const tasks: Task[] = []
  for (const { event } of page.toReversed()) {
    if (session === null) break
    const task = await read(call, { session, exchange: event.id })
    if (status && status !== 'TASK_STATE_UNSPECIFIED' && task.status.state !== status) continue
    if (statusTimestampAfter && Date.parse(task.status.timestamp) <= Date.parse(statusTimestampAfter))
      continue
    tasks.push({
      ...shown(task, historyLength ?? 0),
      ...(includeArtifacts === true ? {} : { artifacts: [] }),
    })
  }
  const first = page[0]?.event.id
  const hasMore = first !== undefined && first !== firstMessages[0]?.event.id
  return {
    tasks,
    nextPageToken: hasMore ? String(first) : '',
    pageSize: limit,
    totalSize: firstMessages.length,
  }
}

const json = (value: unknown): Response => Response.json(value, { headers: { 'cache-control': 'no-store' } })

export async function handleA2a(deps: CompatDeps, request: CallerRequest): Promise<Response> {
  const { path, method, caller, raw, headers } = request
  if (caller.by === 'cookie')
    throw new AppError('unauthenticated', 'Send a token: this API does not use the login of the web UI.')
  const agent = deps.config.compat.a2a.agents.find(name => path === `${A2A}${encodeURIComponent(name)}`)
  if (agent === undefined) throw new AppError('not_found', `Unknown route ${path.slice(0, 200)}.`)
  if (method !== 'POST')
    throw new AppError('method_not_allowed', `Method ${method} not allowed. Allowed: POST.`)
  let id: Id = null
  try {
    const version = headers.get('a2a-version')
    if (version !== null && !/^1\.0(?:\.\d+)?$/.test(version))
      throw refuse(
        'VERSION_NOT_SUPPORTED',
        `A2A-Version: ${version.slice(0, 20)} is not supported: send 1.0.`,
      )
    const rpc = parseRequest(raw)
    id = rpc.id ?? null
    const call = {
      deps,
      principal: caller.principal,
      agent,
      base: baseOf(deps, request),
      signal: request.signal,
    }
    return await run(call, rpc.method, rpc.params, id)
  } catch (error) {
    // Errors before the protocol, such as a rate limit, have their own status; a bug is logged by the server.
    if (!(error instanceof AppError)) throw asError(error)
    return json({ jsonrpc: '2.0', id, error: rpcError(error) })
  }
}

function parseRequest(raw: Uint8Array): z.infer<typeof Request> {
  try {
    return parseBody(Request, raw)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw refuse(error.code === 'bad_request' ? 'PARSE_ERROR' : 'INVALID_REQUEST', error.message)
  }
}

async function run(call: Call, method: string, params: unknown, id: Id): Promise<Response> {
  const refused = REFUSED_METHODS[method]
  if (refused !== undefined) throw refused
  if (method === 'SendStreamingMessage')
    return stream(call, await sendMessage(call.deps, call, checkValue(SendParams, params)), id)
  if (method === 'SubscribeToTask') {
    const ref = await find(call, checkValue(TaskParams, params).id)
    if (isTerminal(await read(call, ref)))
      throw refuse('UNSUPPORTED_OPERATION', 'This task is over: read it with GetTask.')
    return stream(call, ref, id)
  }
  const known = METHODS[method]
  if (known === undefined) throw refuse('METHOD_NOT_FOUND', `Method ${method.slice(0, 100)} not found.`)
  return json({ jsonrpc: '2.0', id, result: await known(call, params) })
}

function stream({ deps, base }: Call, ref: TaskRef, id: Id): Response {
  const leave = new AbortController()
  return streamOf(sseFrames(followTask(deps, ref, base, leave.signal), id), leave)
}

async function* sseFrames(pages: ReturnType<typeof followTask>, id: Id): AsyncGenerator<string> {
  for await (const { frames } of pages)
    if (frames.length > 0)
      yield frames.map(result => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`).join('')
}
