/**
 * Path prefixes that other packages handle: platforms call the channels here, and sign every byte of a body;
 * clients of other APIs call the compatible ones.
 */
import type { ServerResponse } from 'node:http'
import { AppError, asError, type Principal } from '@cairn/protocol'
import type { Authenticator, Identity } from '../auth/authenticate.ts'
import { cookieLine } from '../auth/cookies.ts'
import { type ClientAddress, networkOf } from '../client-address.ts'
import type { Logger } from '../logger.ts'
import type { Connection } from '../sse/connection.ts'
import { chunkOf } from '../sse/frames.ts'
import type { Streams } from '../sse/streams.ts'
import { type Exchange, send } from './exchange.ts'
import { shownError } from './problem.ts'
import type { RateLimit } from './rate-limit.ts'
import { checkLength, discardBody, readBody } from './read-body.ts'

/** The caller, and the kind of its credential. */
type Caller = { principal: Principal; by: 'token' | 'cookie' | 'service_account' }

export type Mount = {
  /** Ends with a slash. */
  prefix: string
  /** Throws AppError to reject. `signal` aborts when the client disconnects. */
  handle(request: MountedRequest): Promise<Response>
  /** Headers of every response to a request, errors included. */
  headersFor?(path: string, headers: Headers): Record<string, string>
  /**
   * The routes need credentials. The caller is resolved before the body is read, the request counts against
   * its rate limit, and an event stream is held like those of the API: heartbeats, the limit of open streams,
   * the end of the login, readers that stall, drain.
   */
  identify?: true
  /** The response to an error, in the shape of the API; absent: the problem document. */
  errorFor?(error: AppError, requestId: string): Response
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
  requestId: string
  /** The principal of the request's credentials; null: it has none. */
  principal(): Promise<Principal | null>
  /** With `identify`: the caller; null for OPTIONS, which browsers send without credentials. */
  caller: Caller | null
}

const MAX_BODY = 4 * 1024 * 1024

type MountDeps = {
  mounts?: readonly Mount[]
  clientAddress: ClientAddress
  authenticator: Authenticator
  streams: Pick<Streams, 'open'>
  log: Logger
}

/** Whether a mount handles the path. */
export const isMounted = ({ mounts = [] }: Pick<MountDeps, 'mounts'>, path: string): boolean =>
  mounts.some(({ prefix }) => path.startsWith(prefix))

/**
 * Serves requests under a mount, and passes the others to `dispatch`. Callers without an identity are
 * rate-limited like those of public routes.
 */
export function besideMounts(
  deps: MountDeps,
  limit: RateLimit,
  dispatch: (exchange: Exchange) => Promise<void>,
): (exchange: Exchange) => Promise<void> {
  return async exchange => {
    const mount = deps.mounts?.find(({ prefix }) => exchange.path.startsWith(prefix))
    if (mount === undefined) return dispatch(exchange)
    exchange.route = `mount ${mount.prefix}`
    try {
      await answer(mount, exchange, { ...deps, limit })
    } catch (error) {
      if (mount.errorFor === undefined) throw error
      discardBody(exchange)
      await sendResponse(exchange, mount.errorFor(shownError(exchange, error, deps.log), exchange.id))
    }
  }
}

async function answer(
  mount: Mount,
  exchange: Exchange,
  { clientAddress, authenticator, streams, log, limit }: MountDeps & { limit: RateLimit },
): Promise<void> {
  const { handle, headersFor, identify: needsIdentity } = mount
  const address = clientAddress(exchange.req)
  const headers = new Headers()
  for (const [name, value] of Object.entries(exchange.req.headersDistinct))
    for (const each of value ?? []) headers.append(name, each)
  for (const [name, value] of Object.entries(headersFor?.(exchange.path, headers) ?? {}))
    exchange.res.setHeader(name, value)
  checkLength(exchange, MAX_BODY)
  const identity =
    needsIdentity === true && exchange.method !== 'OPTIONS'
      ? await identifyCaller(authenticator, exchange)
      : null
  limit(identity === null ? `ip ${address}` : identity.principal.id)
  const raw = await readBody(exchange, MAX_BODY)
  const gone = new AbortController()
  exchange.res.once('close', () => gone.abort())
  const response = await handle({
    method: exchange.method,
    path: exchange.path,
    query: new URLSearchParams(exchange.search),
    headers,
    raw,
    signal: gone.signal,
    address: networkOf(address),
    requestId: exchange.id,
    principal: () => identify(authenticator, exchange),
    caller: identity,
  })
  const { body } = response
  if (identity === null || body === null || !isEventStream(response)) return sendResponse(exchange, response)
  for (const [name, value] of response.headers)
    if (name !== 'content-type') exchange.res.setHeader(name, value)
  // The connection ends with its stream, and must not be used for another request.
  exchange.res.setHeader('connection', 'close')
  openStream(body, onClose => streams.open(exchange, identity, onClose), log)
}

/** The header x-api-key, which some clients send, is a bearer token here. */
async function identifyCaller(
  authenticator: Authenticator,
  { req, res, cookies }: Exchange,
): Promise<Identity> {
  const key = req.headers['x-api-key']
  if (req.headers.authorization === undefined && typeof key === 'string')
    req.headers.authorization = `Bearer ${key}`
  const identity = await authenticator.identify(req)
  if (identity.renewedCookie !== null) {
    cookies.push(cookieLine(req, identity.renewedCookie))
    res.setHeader('set-cookie', cookies)
  }
  return identity
}

async function identify(authenticator: Authenticator, { req }: Exchange): Promise<Principal | null> {
  try {
    return (await authenticator.identify(req)).principal
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthenticated') return null
    throw error
  }
}

const isEventStream = ({ headers }: Response): boolean => headers.get('content-type') === 'text/event-stream'

/** Holds the stream of an identified caller: its body is read as fast as the client reads. */
function openStream(
  body: ReadableStream<Uint8Array>,
  open: (onClose: () => void) => Connection,
  log: Logger,
): void {
  const reader = body.getReader()
  const closed = Promise.withResolvers<void>()
  const state = { isClosed: false }
  const cancel = (): void =>
    void reader
      .cancel()
      .catch((error: unknown) => log.warn('ending a stream failed', { error: String(error) }))
  let connection: Connection
  try {
    connection = open(() => {
      state.isClosed = true
      closed.resolve()
      cancel()
    })
  } catch (error) {
    cancel()
    throw error
  }
  const room = (): Promise<void> =>
    new Promise(resolve => {
      connection.onRoom = resolve
    })
  async function pipe(): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read()
      if (state.isClosed) return
      if (done) return connection.end()
      connection.write(chunkOf(value))
      while (!state.isClosed && !connection.hasRoom()) await Promise.race([room(), closed.promise])
    }
  }
  pipe().catch((error: unknown) => {
    log.error('writing a stream failed', { error: asError(error).message })
    connection.destroy()
  })
}

/** Resolves when the response takes more bytes, or is closed. */
const roomIn = (res: ServerResponse): Promise<void> =>
  new Promise(resolve => {
    const settle = (): void => {
      res.off('drain', settle).off('close', settle)
      resolve()
    }
    res.on('drain', settle).on('close', settle)
  })

/** Writes the response of a mount: at once, or chunk by chunk if its body is a stream. */
async function sendResponse(exchange: Exchange, response: Response): Promise<void> {
  const { status, body } = response
  const headers = Object.fromEntries(response.headers)
  if (!isEventStream(response) || body === null) {
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
    if (!res.write(value)) await roomIn(res)
  }
  res.end()
}
