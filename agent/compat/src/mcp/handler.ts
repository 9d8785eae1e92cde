/**
 * The HTTP side of an MCP server, without a memory of clients: a request of revision 2026-07-28 carries its
 * own envelope, and one of an earlier revision carries what it needs in its session id (legacy.ts).
 */
import { isUtf8 } from 'node:buffer'
import { MAX_DEPTH, nestsTooDeep, type Principal } from '@cairn/protocol'
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server'
import type { LegacyExchanges } from './legacy.ts'
import { isListen, type ListenTasks } from './listen.ts'
import type { McpRequest } from './request.ts'
import { invalidRequest, parseError, rpcError } from './rpc-errors.ts'

export type Endpoint = {
  serverFor(principal: Principal, context: Pick<McpRequestContext, 'era'>): Server
  listen(principal: Principal): ListenTasks
  legacy: LegacyExchanges
  /** Hosts of pages that may send requests; `*` is not supported. */
  allowsOrigin(origin: string): boolean
}

/** The URL of a request that never leaves this process. */
const HERE = 'http://cairn.invalid/mcp'
const MAX_BATCH_ERROR = 'Batches are not supported: send one message a request.'

export async function handleMcpRequest(endpoint: Endpoint, request: McpRequest): Promise<Response> {
  const { method, headers, raw, signal, principal } = request
  const origin = headers.get('origin')
  if (origin !== null && !endpoint.allowsOrigin(origin))
    return invalidRequest(`Origin ${origin.slice(0, 200)} not allowed: add it to compat.origins.`, 403)
  if (method !== 'POST')
    return rpcError(405, -32000, `Method ${method} not allowed. Allowed: POST.`, {
      headers: { allow: 'POST' },
    })
  if (!isJsonContentType(headers.get('content-type')))
    return rpcError(415, -32000, 'Unsupported media type: send application/json.')
  const parsed = parse(raw)
  if (parsed instanceof Response) return parsed
  const { message } = parsed
  const forwarded = new Request(HERE, { method, headers: sendable(headers), signal })
  if (await isLegacyRequest(forwarded, message)) return endpoint.legacy.serve(message, request)
  if (isListen(message)) {
    const response = endpoint.listen(principal)(message, signal)
    if (response !== null) return response
  }
  const handler = createMcpHandler(context => endpoint.serverFor(principal, context), {
    legacy: 'reject',
    // The service sends heartbeats itself.
    keepAliveMs: 0,
  })
  return handler.fetch(forwarded, { parsedBody: message })
}

/** Headers of a connection do not belong to a request within the process. */
function sendable(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of ['connection', 'content-length', 'transfer-encoding', 'authorization', 'cookie'])
    kept.delete(name)
  return kept
}

function parse(raw: Uint8Array): { message: Record<string, unknown> } | Response {
  if (!isUtf8(raw)) return parseError('Parse error: the body is not valid UTF-8.')
  let message: unknown
  try {
    message = JSON.parse(Buffer.from(raw).toString('utf8'))
  } catch {
    return parseError('Parse error: the body is not valid JSON.')
  }
  if (Array.isArray(message)) return invalidRequest(MAX_BATCH_ERROR)
  if (typeof message !== 'object' || message === null)
    return invalidRequest('Invalid request: must be a JSON-RPC message.')
  if (nestsTooDeep(message)) return invalidRequest(`Invalid request: nested deeper than ${MAX_DEPTH} levels.`)
  return { message: message as Record<string, unknown> }
}
