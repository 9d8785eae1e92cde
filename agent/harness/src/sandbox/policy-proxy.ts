/**
 * The one way out of boxes that have no network: an HTTP proxy on a unix socket, one socket a box. The socket
 * is the identity: whoever comes through it is judged by that box's policy.
 *
 *   GET http://host/…     forwarded, without the headers that belong to one hop
 *   CONNECT host:port     a tunnel; what is in it stays closed to us
 *   GET /…                not a proxy's request: goes to the door's `origin`, if it has one (the broker)
 *
 * The name is judged by the lists, resolved once, and the very addresses that were judged are dialled. So
 * redirects, parts of pages, WebSockets and names that change their mind all meet the same judge.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { connect, isIP, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duplex, pipeline } from 'node:stream'
import { asError, type GovernanceConfig } from '@cairn/protocol'
import { hostOf, isNamedInternal, urlProblem } from '../governance/egress.ts'
import {
  guardedLookup,
  RefusedAddress,
  type ResolveHost,
  resolveBySystem,
} from '../governance/guarded-lookup.ts'

type Egress = GovernanceConfig['egress']

/** Requests that name no host: `GET /_cairn/…`. It answers every one that it gets. */
export type OriginHandler = (request: IncomingMessage, response: ServerResponse) => void

type DoorOptions = {
  /** The box's id, for people. */
  id: string
  egress: Egress
  origin?: OriginHandler
}

export type Door = {
  /** Absolute path of its unix socket. */
  socket: string
  /** What was refused, as sentences, each once, the latest last; at most 20. */
  refusals(): readonly string[]
  /** Ends what is still open through it. */
  close(): Promise<void>
}

export type PolicyProxy = {
  open(options: DoorOptions): Promise<Door>
  /** Of all doors since the start. */
  counts(): { connections: number; refused: number }
  close(): Promise<void>
}

type ProxyOptions = {
  /** Beside 80 and 443. Hosts that `egress.internal` names may be reached at every port. */
  ports?: readonly number[]
  resolveHost?: ResolveHost
}

const TOLD = 20
const CONNECT_MS = 10_000
const MAX_CONNECTIONS = 256
/** Of one hop (RFC 9110, 7.6.1), and those that only proxies have. */
const HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

class Refused extends Error {}

export function createPolicyProxy({
  ports = [],
  resolveHost = resolveBySystem,
}: ProxyOptions = {}): PolicyProxy {
  // Short, for the path of a unix socket has 107 bytes; and only this user may enter it.
  const folder = mkdtempSync(join(tmpdir(), 'cairn-doors-'))
  const allowedPorts = new Set([80, 443, ...ports])
  const doors = new Set<Door>()
  const counts = { connections: 0, refused: 0 }
  let made = 0
  return {
    async open(options) {
      const socket = join(folder, `${(made += 1)}.sock`)
      const door = await openDoor(socket, options, { allowedPorts, resolveHost, counts })
      const open = {
        ...door,
        close: () => {
          doors.delete(open)
          return door.close()
        },
      }
      doors.add(open)
      return open
    },
    counts: () => ({ ...counts }),
    async close() {
      await Promise.all([...doors].map(door => door.close()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Shared = {
  allowedPorts: ReadonlySet<number>
  resolveHost: ResolveHost
  counts: { connections: number; refused: number }
}

async function openDoor(
  path: string,
  { egress, origin }: DoorOptions,
  { allowedPorts, resolveHost, counts }: Shared,
): Promise<Door> {
  const refused: string[] = []
  const lookup = guardedLookup(egress, resolveHost)
  const sockets = new Set<Duplex>()

  function keep<S extends Duplex>(socket: S): S {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  /** The status that a caller gets, and the reason. */
  function judge(thrown: unknown): [403 | 502, string] {
    const { message } = asError(thrown)
    if (!(thrown instanceof Refused || thrown instanceof RefusedAddress)) return [502, message]
    counts.refused += 1
    if (!refused.includes(message)) refused.push(message)
    refused.splice(0, refused.length - TOLD)
    return [403, message]
  }

  /** A connection to where `url` leads, or a refusal; `url` has passed no check before. */
  async function dial(url: URL): Promise<Socket> {
    const problem = urlProblem(url.href, egress)
    if (problem !== null) throw new Refused(problem)
    const host = hostOf(url)
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    if (!allowedPorts.has(port) && !isNamedInternal(host, egress))
      throw new Refused(`port ${port} of '${host}' is not open: a box reaches ports 80 and 443`)
    counts.connections += 1
    // An address was judged with the name; only names are looked up.
    const socket = keep(connect({ host, port, autoSelectFamily: true, ...(isIP(host) ? {} : { lookup }) }))
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', error => reject(firstCause(error)))
      socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(`'${host}' does not answer`)))
    })
    socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
    return socket
  }

  const server = createServer((request, response) => {
    if (request.url?.startsWith('/') === true)
      return origin === undefined
        ? answer(response, 404, 'this door leads nowhere')
        : origin(request, response)
    forward(request, response, dial).catch((thrown: unknown) => {
      const [status, reason] = judge(thrown)
      if (response.headersSent) response.destroy()
      else answer(response, status, reason)
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  server.on('connection', keep)
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy())
    tunnel(request, client, head, dial).catch((thrown: unknown) => {
      const [status, reason] = judge(thrown)
      client.end(
        `HTTP/1.1 ${status} ${status === 403 ? 'Forbidden' : 'Bad Gateway'}\r\n` +
          `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(reason)}\r\n\r\n${reason}`,
      )
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return {
    socket: path,
    refusals: () => [...refused],
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

type Dial = (url: URL) => Promise<Socket>

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${text}\n`)
}

/** Several addresses were tried and each failed: the first says why. */
const firstCause = (error: Error): Error =>
  error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error

async function forward(request: IncomingMessage, response: ServerResponse, dial: Dial): Promise<void> {
  const text = request.url ?? ''
  if (!URL.canParse(text) || new URL(text).protocol !== 'http:')
    throw new Refused(`'${text.slice(0, 200)}' is no http address; https goes through CONNECT`)
  const url = new URL(text)
  const socket = await dial(url)
  const dropped = new Set([...HOP_HEADERS, ...namesIn(request.headers.connection)])
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !dropped.has(name) && name !== 'host'),
  )
  await new Promise<void>((resolve, reject) => {
    const upstream = httpRequest({
      method: request.method,
      path: url.pathname + url.search,
      headers: { ...headers, host: url.host, connection: 'close' },
      createConnection: () => socket,
    })
    upstream.once('error', reject)
    upstream.once('response', answered => {
      const gone = new Set([...HOP_HEADERS, ...namesIn(answered.headers.connection)])
      const kept = Object.entries(answered.headers).filter(([name]) => !gone.has(name))
      response.writeHead(answered.statusCode ?? 502, Object.fromEntries(kept))
      pipeline(answered, response, error => (error ? reject(error) : resolve()))
    })
    response.once('close', () => socket.destroy())
    pipeline(request, upstream, error => error && reject(error))
  })
}

const namesIn = (header: string | undefined): string[] =>
  (header ?? '').split(',').map(name => name.trim().toLowerCase())

async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, dial: Dial): Promise<void> {
  const authority = request.url ?? ''
  const port = /:(\d{1,5})$/.exec(authority)?.[1]
  if (port === undefined || !URL.canParse(`https://${authority}`))
    throw new Refused(`'${authority.slice(0, 200)}' is not a host and a port`)
  // Port 443 is what an https address has by itself; any other stays in it.
  const socket = await dial(new URL(`https://${authority}`))
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
  if (head.length > 0) socket.write(head)
  // One direction that fails ends both.
  pipeline(client, socket, () => socket.destroy())
  pipeline(socket, client, () => client.destroy())
}
