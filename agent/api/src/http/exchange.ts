/**
 * One request and its response. The only place that writes the status line and headers of ordinary responses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type Exchange = {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** x-request-id: the caller's if it is well-formed, otherwise a new one. */
  readonly id: string
  readonly method: string
  readonly path: string
  /** The query string, not decoded. */
  readonly search: string
  /** Name of the route for metrics and the logger; never the path, which contains ids. */
  route: string
  /** performance.now() at arrival. */
  readonly startedAt: number
  /** Set-Cookie lines of the response. */
  cookies: string[]
  /** The client waits for "100 Continue" before it sends the body. */
  readonly expectsContinue: boolean
  /** The connection ends if the client reads nothing of the response for this long. */
  readonly untakenMs: number
}

const PLAIN_ID = /^[A-Za-z0-9._:-]{1,64}$/

export function openExchange(
  req: IncomingMessage,
  res: ServerResponse,
  newId: () => string,
  { expectsContinue, untakenMs }: Pick<Exchange, 'expectsContinue' | 'untakenMs'>,
): Exchange {
  const url = req.url ?? '/'
  const mark = url.indexOf('?')
  const given = req.headers['x-request-id']
  return {
    req,
    res,
    id: typeof given === 'string' && PLAIN_ID.test(given) ? given : newId(),
    method: req.method ?? 'GET',
    path: mark < 0 ? url : url.slice(0, mark),
    search: mark < 0 ? '' : url.slice(mark + 1),
    route: 'unknown',
    startedAt: performance.now(),
    cookies: [],
    expectsContinue,
    untakenMs,
  }
}

type HeaderList = Record<string, string | number | string[]>

/** Sends the response once; does nothing if the client has disconnected. */
export function send(
  exchange: Exchange,
  status: number,
  contentType: string | null,
  body: string | Buffer,
  headers: HeaderList = {},
): void {
  const { res } = exchange
  if (res.headersSent || res.destroyed) return
  const isEmpty = status === 204 || status === 304
  const all: HeaderList = { 'x-request-id': exchange.id, 'x-content-type-options': 'nosniff' }
  if (contentType !== null) all['content-type'] = contentType
  if (!isEmpty) all['content-length'] = Buffer.byteLength(body)
  if (exchange.cookies.length > 0) all['set-cookie'] = exchange.cookies
  for (const name in headers) all[name] = headers[name] as string
  res.writeHead(status, all)
  res.end(exchange.method === 'HEAD' || isEmpty ? undefined : body)
  limitUntaken(exchange)
}

/**
 * Nearly every response is with the kernel by now and needs no timer. The timeout ends with the response:
 * after that the keep-alive timeout applies. A pipelined response gets its socket when the earlier ones have
 * been sent.
 */
function limitUntaken({ res, untakenMs }: Exchange): void {
  if (res.socket === null) res.once('socket', (socket: Socket) => socket.setTimeout(untakenMs))
  else if (res.socket.writableLength > 0) res.socket.setTimeout(untakenMs)
}

const UNSTORED: HeaderList = { 'cache-control': 'no-store' }

export function sendJson(
  exchange: Exchange,
  status: number,
  json: string | Buffer,
  headers?: HeaderList,
): void {
  send(
    exchange,
    status,
    'application/json; charset=utf-8',
    json,
    headers === undefined ? UNSTORED : { ...UNSTORED, ...headers },
  )
}
