/** Routes requests to handlers, and converts errors to responses. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { VERSION } from '@cairn/tooling/version'
import type { AdapterRegistry } from '../adapter-registry.ts'
import { ClientDisconnected } from '../choice.ts'
import { chat } from '../chat.ts'
import { complete, type ReplyContext, type SendChunk } from '../completions.ts'
import { ApiError, badRequest, errorBody, notFound, unknownModel } from '../errors.ts'
import { metricsText } from '../metrics.ts'
import {
  chatRequest,
  completionRequest,
  detokenizeRequest,
  loadAdapterRequest,
  tokenizeRequest,
  unloadAdapterRequest,
  type ModelCard,
} from '../protocol.ts'
import type { ServedModel } from '../served-model.ts'
import { checkParameters } from '../parameters/check.ts'
import { detokenize, tokenize } from '../tokenize.ts'
import { responsesRequest } from '../responses/request.ts'
import { respond } from '../responses/responses.ts'
import { BODY_LIMITS } from './body-shape.ts'
import { sendEvent } from './event-stream.ts'
import type { AccessControl } from './access-control.ts'
import { readBody, sendJson, sendText } from './json.ts'

export type App = {
  model: ServedModel
  adapters: AdapterRegistry
  started: number
  access: AccessControl
  allowsUpdating: boolean
  log: (line: string) => void
}

type Handler = (app: App, request: IncomingMessage, response: ServerResponse) => Promise<void> | void

const seconds = () => Math.floor(Date.now() / 1000)

/** The model that a request names. Defaults to the base. */
function findModel(
  { model, adapters }: App,
  name: string | null | undefined,
): { model: ServedModel; target: Pick<ReplyContext, 'name' | 'adapter'> } {
  const [base = ''] = model.names
  if (!name || model.names.includes(name))
    return { model, target: { name: name || base, adapter: undefined } }
  const found = adapters.find(name)
  if (!found) throw unknownModel(name)
  return { model: found.model, target: { name, adapter: found.adapter } }
}

/** Runs a request that may ask for a stream. Aborts it when the client leaves. */
async function answer(
  request: { stream?: boolean | null | undefined },
  response: ServerResponse,
  run: (signal: AbortSignal, send: SendChunk) => Promise<object>,
): Promise<void> {
  const disconnected = new AbortController()
  response.on('close', () => disconnected.abort())
  if (!request.stream) {
    sendJson(response, 200, await run(disconnected.signal, () => undefined))
    return
  }
  const send: SendChunk = chunk => sendEvent(response, JSON.stringify(chunk))
  try {
    await run(disconnected.signal, send)
  } catch (error) {
    // If nothing was sent yet, the error is the response. Otherwise it is the last event.
    if (!response.headersSent || error instanceof ClientDisconnected) throw error
    send(errorBody(toApiError(error)))
  }
  response.end('data: [DONE]\n\n')
}

const ofChat = { maxValues: BODY_LIMITS.valuesOfChat }

const handleCompletion: Handler = async (app, request, response) => {
  const body = await readBody(request, completionRequest)
  const { model, target } = findModel(app, body.model)
  await answer(body, response, (signal, send) =>
    complete(model, body, { id: `cmpl-${randomUUID()}`, created: seconds(), ...target, signal }, send),
  )
}

const handleChat: Handler = async (app, request, response) => {
  const body = await readBody(request, chatRequest, ofChat)
  const { model, target } = findModel(app, body.model)
  await answer(body, response, (signal, send) =>
    chat(model, body, { id: `chatcmpl-${randomUUID()}`, created: seconds(), ...target, signal }, send),
  )
}

const handleResponse: Handler = async (app, request, response) => {
  const body = await readBody(request, responsesRequest, ofChat)
  const { model, target } = findModel(app, body.model)
  await answer(body, response, (signal, send) =>
    respond(model, body, { id: `resp_${randomUUID()}`, created: seconds(), ...target, signal }, send),
  )
}

function listModels({ model, adapters, started }: App): ModelCard[] {
  const card = (id: string, root: string, parent: string | null): ModelCard => ({
    id,
    object: 'model',
    created: started,
    owned_by: 'cairn-tune',
    root,
    parent,
    max_model_len: parent === null ? model.maxModelLen : null,
  })
  const [base = ''] = model.names
  return [
    ...model.names.map(name => card(name, model.root, null)),
    ...adapters.list().map(({ name, path }) => card(name, basename(path), base)),
  ]
}

const handleLoad: Handler = async ({ adapters, log }, request, response) => {
  const body = await readBody(request, loadAdapterRequest)
  checkParameters('/v1/load_lora_adapter', body)
  const { lora_name: name, lora_path: path } = body
  if (!name || !path)
    throw new ApiError(400, 'InvalidUserInput', "Both 'lora_name' and 'lora_path' must be provided.")
  await adapters.load(name, path)
  log(`loaded ${JSON.stringify(name)} from ${JSON.stringify(path)}`)
  sendText(response, 200, `Success: LoRA adapter '${name}' added successfully.`)
}

const handleUnload: Handler = async ({ adapters, log }, request, response) => {
  const body = await readBody(request, unloadAdapterRequest)
  checkParameters('/v1/unload_lora_adapter', body)
  const { lora_name: name } = body
  if (!name)
    throw new ApiError(400, 'InvalidUserInput', "'lora_name' needs to be provided to unload a LoRA adapter.")
  await adapters.unload(name)
  log(`unloaded ${JSON.stringify(name)}`)
  sendText(response, 200, `Success: LoRA adapter '${name}' removed successfully.`)
}

const handleTokenize: Handler = async (app, request, response) => {
  const body = await readBody(request, tokenizeRequest, ofChat)
  sendJson(response, 200, await tokenize(findModel(app, body.model).model, body))
}

const handleDetokenize: Handler = async (app, request, response) => {
  const body = await readBody(request, detokenizeRequest)
  sendJson(response, 200, await detokenize(findModel(app, body.model).model, body))
}

const handlePing: Handler = (_, __, response) => sendText(response, 200, '')

const routes: Readonly<Record<string, Handler>> = {
  'GET /ping': handlePing,
  'POST /ping': handlePing,
  'GET /version': (_, __, response) => sendJson(response, 200, { version: VERSION }),
  'POST /tokenize': handleTokenize,
  'POST /detokenize': handleDetokenize,
  'GET /tokenizer_info': ({ model }, _, response) => sendJson(response, 200, model.tokenizerInfo),
  'GET /health': (_, __, response) => sendText(response, 200, ''),
  'GET /v1/models': (app, _, response) => sendJson(response, 200, { object: 'list', data: listModels(app) }),
  'GET /metrics': (app, _, response) =>
    sendText(response, 200, metricsText(app), 'text/plain; version=0.0.4; charset=utf-8'),
  'POST /v1/completions': handleCompletion,
  'POST /v1/chat/completions': handleChat,
  'POST /v1/responses': handleResponse,
  'POST /v1/load_lora_adapter': handleLoad,
  'POST /v1/unload_lora_adapter': handleUnload,
}
/**
 * Absent unless the environment enables them and access control admits only this machine or holders of a key.
 */
const gated = new Set(['POST /v1/load_lora_adapter', 'POST /v1/unload_lora_adapter'])

export const UPDATING_NEEDS_KEY =
  'Loading and unloading adapters over HTTP is disabled, because the server listens on a ' +
  'non-loopback address without an API key. Start it with --api-key or with --host 127.0.0.1.'

function decodePath(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    throw error instanceof URIError ? badRequest(`Malformed percent-encoding in the path: ${part}`) : error
  }
}

/** The path of a request's target, which is a path or an absolute URL. */
function pathOf(target: string): string {
  const url = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target)
  if (url) return url.pathname
  throw badRequest(`The request target ${JSON.stringify(target)} is not a path.`)
}

function findRoute(app: App, request: IncomingMessage, pathname: string): Handler {
  const key = `${request.method} ${pathname}`
  const card = /^GET \/v1\/models\/(.+)$/.exec(key)
  if (card?.[1]) {
    const wanted = decodePath(card[1])
    return (_, __, response) => {
      const found = listModels(app).find(({ id }) => id === wanted)
      if (!found) throw unknownModel(wanted)
      sendJson(response, 200, found)
    }
  }
  const isOpen = (route: string) =>
    Object.hasOwn(routes, route) && ((app.allowsUpdating && app.access.mayUpdate) || !gated.has(route))
  const handler = isOpen(key) ? routes[key] : undefined
  if (handler) return handler
  const others = Object.keys(routes).filter(route => isOpen(route) && route.endsWith(` ${pathname}`))
  throw others.length > 0
    ? new ApiError(
        405,
        'MethodNotAllowedError',
        `Method ${request.method} not allowed on ${pathname}. Allowed: ` +
          `${others.map(route => route.split(' ')[0]).join(', ')}.`,
      )
    : notFound(
        app.allowsUpdating && gated.has(key)
          ? UPDATING_NEEDS_KEY
          : `Unknown route ${request.method} ${pathname}.`,
      )
}

function toApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError(500, 'InternalServerError', 'The server failed to handle this request; see its log.')
}

/** Answers one request; never rejects. */
export async function handle(app: App, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const pathname = pathOf(request.url ?? '/')
    if (app.access.check(request, response, pathname)) return
    await findRoute(app, request, pathname)(app, request, response)
  } catch (error) {
    if (error instanceof ClientDisconnected || response.destroyed) return
    const known = toApiError(error)
    if (known.status >= 500)
      app.log(
        `${request.method} ${request.url}: ` +
          `${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      )
    // The unread rest of a rejected body must not keep the connection open.
    if (known.status === 413) response.shouldKeepAlive = false
    if (response.headersSent) response.destroy()
    else sendJson(response, known.status, errorBody(known))
  }
}
