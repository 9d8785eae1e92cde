/**
 * Path prefixes that other packages handle: platforms call the channels here, and sign every byte of a body.
 */
import { type ClientAddress, networkOf } from '../client-address.ts'
import { type Exchange, send } from './exchange.ts'
import type { RateLimit } from './rate-limit.ts'
import { checkLength, readBody } from './read-body.ts'
import { once } from 'node:events'

export type Mount = {
  /** Ends with a slash. */
  prefix: string
  /** Throws AppError to reject. `signal` aborts when the client disconnects. */
  handle(request: MountedRequest): Promise<Response>
  /** Headers of every response to a request, errors included. */
  headersFor?(path: string, headers: Headers): Record<string, string>
}
type MountedRequest = {
  method: string
  path: string
  query: URLSearchParams
  headers: Headers
  raw: Uint8Array
  signal: AbortSignal
  /** The client's address, or its network: the unit for rate limits. */
  address: string
}

const MAX_BODY = 4 * 1024 * 1024

/**
 * Serves requests under a mount, and passes the others to `dispatch`. Callers are rate-limited like those of
 * public routes.
 */
export function besideMounts(
  { mounts = [], clientAddress }: { mounts?: readonly Mount[]; clientAddress: ClientAddress },
  limit: RateLimit,
  dispatch: (exchange: Exchange) => Promise<void>,
): (exchange: Exchange) => Promise<void> {
  return exchange => {
    const mount = mounts.find(({ prefix }) => exchange.path.startsWith(prefix))
    return mount === undefined
      ? dispatch(exchange)
      : answer(mount, exchange, clientAddress(exchange.req), limit)
  }
}

async function answer(
  { prefix, handle, headersFor }: Mount,
  exchange: Exchange,
  caller: string,
  limit: RateLimit,
): Promise<void> {
  exchange.route = `mount ${prefix}`
  const headers = new Headers()
  for (const [name, value] of Object.entries(exchange.req.headersDistinct))
    for (const each of value ?? []) headers.append(name, each)
  for (const [name, value] of Object.entries(headersFor?.(exchange.path, headers) ?? {}))
    exchange.res.setHeader(name, value)
  checkLength(exchange, MAX_BODY)
  limit(`ip ${caller}`)
  const raw = await readBody(exchange, MAX_BODY)
  const gone = new AbortController()
  exchange.res.once('close', () => gone.abort())
  const query = new URLSearchParams(exchange.search)
  const { method, path } = exchange
  const address = networkOf(caller)
  const request = { method, path, query, headers, raw, signal: gone.signal, address }
  await sendResponse(exchange, await handle(request))
}

/** Writes the response of a mount: at once, or chunk by chunk if its body is a stream. */
async function sendResponse(exchange: Exchange, response: Response): Promise<void> {
  const { status, body } = response
  const headers = Object.fromEntries(response.headers)
  if (response.headers.get('content-type') !== 'text/event-stream' || body === null) {
    const bytes = Buffer.from(await response.arrayBuffer())
    send(exchange, status, null, bytes, { 'cache-control': 'no-store', ...headers })
    return
  }
  const { res } = exchange
  if (res.headersSent || res.destroyed) return
  res.writeHead(status, { 'x-request-id': exchange.id, 'x-content-type-options': 'nosniff', ...headers })
  const reader = body.getReader()
  const stop = (): void => void reader.cancel()
  res.once('close', stop)
  for (;;) {
    const { done, value } = await reader.read()
    if (done || res.destroyed) break
    // A client that does not read pauses the stream, so nothing accumulates in memory; its disconnect ends
    // the wait.
    if (!res.write(value)) await Promise.race([once(res, 'drain'), once(res, 'close')])
  }
  res.end()
}
