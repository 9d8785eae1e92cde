/**
 * The only way out of sandboxes without a network: an HTTP proxy on a unix socket, one socket per sandbox.
 * The socket is the identity: its requests are judged by that sandbox's policy.
 *
 *   GET http://host/…     forwarded without hop-by-hop headers
 *   CONNECT host:port     a tunnel; its content is not inspected
 *   GET /…                not a proxy request: passed to the proxy's `origin`, if it has one (the broker)
 *
 * The name is judged by the lists and resolved once, and only the judged addresses are connected to. So
 * redirects, resources of pages, WebSockets and names that change their address all pass the same check.
 */
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, isIP, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { asError, type GovernanceConfig } from '@cairn/protocol'
import { hostOf, isNamedInternal, portOf, urlProblem } from './egress.ts'
import { guardedLookup, RefusedAddress, type ResolveHost, resolveBySystem } from './guarded-lookup.ts'
import { answer, type Dial, forward, Refused, tunnel } from './forward-request.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

type Egress = GovernanceConfig['egress']

/** Handles requests without a host: `GET /_cairn/…`. It must answer every request. */
export type OriginHandler = (request: IncomingMessage, response: ServerResponse) => void

type BoxProxyOptions = {
  /** The sandbox's id, for people. */
  id: string
  egress: Egress
  origin?: OriginHandler
}

export type SandboxProxy = {
  /** Absolute path of its unix socket. */
  socket: string
  /** Refusals as sentences without duplicates, latest last; at most 20. */
  refusals(): readonly string[]
  /** Ends its open connections. */
  close(): Promise<void>
}

export type PolicyProxy = {
  open(options: BoxProxyOptions): Promise<SandboxProxy>
  /** Totals of all proxies since the start. */
  counts(): { connections: number; refused: number }
  close(): Promise<void>
}

type ProxyOptions = {
  /** Ports in addition to 80 and 443. Hosts in `egress.internal` may be reached at every port. */
  ports?: readonly number[]
  resolveHost?: ResolveHost
  /** The folder of its sockets; new, private to this user, and with a short path. */
  folder?: string
}

const TOLD = 20
const CONNECT_MS = 10_000
const MAX_CONNECTIONS = 256
export function createPolicyProxy({
  ports = [],
  resolveHost = resolveBySystem,
  // A short path, because that of a unix socket is limited to 107 bytes; private to this user.
  folder = makeTemporaryFolder('cairn-proxies-'),
}: ProxyOptions = {}): PolicyProxy {
  const allowedPorts = new Set([80, 443, ...ports])
  const boxProxies = new Set<SandboxProxy>()
  const counts = { connections: 0, refused: 0 }
  let made = 0
  return {
    async open(options) {
      const socket = join(folder, `${(made += 1)}.sock`)
      const boxProxy = await openBoxProxy(socket, options, { allowedPorts, resolveHost, counts })
      const open = {
        ...boxProxy,
        close: () => {
          boxProxies.delete(open)
          return boxProxy.close()
        },
      }
      boxProxies.add(open)
      return open
    },
    counts: () => ({ ...counts }),
    async close() {
      await Promise.all([...boxProxies].map(boxProxy => boxProxy.close()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Shared = {
  allowedPorts: ReadonlySet<number>
  resolveHost: ResolveHost
  counts: { connections: number; refused: number }
}

/** Judges the name, then its addresses, and connects to those. `keep` receives each connection. */
function createDial(egress: Egress, shared: Shared, keep: (socket: Socket) => void): Dial {
  const lookup = guardedLookup(egress, shared.resolveHost)
  return async (url, onread) => {
    const problem = urlProblem(url.href, egress)
    if (problem !== null) throw new Refused(problem)
    const host = hostOf(url)
    const port = portOf(url)
    if (!shared.allowedPorts.has(port) && !isNamedInternal(host, egress, port))
      throw new Refused(`port ${port} of '${host}' is not allowed: a sandbox can reach ports 80 and 443`)
    shared.counts.connections += 1
    // An address was judged as the name; only names are resolved.
    const socket = connect({
      host,
      port,
      autoSelectFamily: true,
      ...(isIP(host) ? {} : { lookup }),
      ...(onread === undefined ? {} : { onread }),
    })
    keep(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', error => reject(firstCause(error)))
      socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(`'${host}' did not respond`)))
    })
    socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
    return socket
  }
}

/** Several addresses were tried and all failed: report the first error. */
const firstCause = (error: Error): Error =>
  error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error

/** The latest reasons, without duplicates. */
function createRefusals(counts: Shared['counts']) {
  const told: string[] = []
  return {
    list: () => [...told],
    /** The response status and the reason. */
    judge(thrown: unknown): [403 | 502, string] {
      const { message } = asError(thrown)
      if (!(thrown instanceof Refused || thrown instanceof RefusedAddress)) return [502, message]
      counts.refused += 1
      if (!told.includes(message)) told.push(message)
      told.splice(0, told.length - TOLD)
      return [403, message]
    },
  }
}

async function openBoxProxy(
  path: string,
  { egress, origin }: BoxProxyOptions,
  shared: Shared,
): Promise<SandboxProxy> {
  const refusals = createRefusals(shared.counts)
  const sockets = new Set<Duplex>()
  const keep = (socket: Duplex): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const dial = createDial(egress, shared, keep)
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/') === true)
      return origin === undefined ? answer(response, 404, 'not found') : origin(request, response)
    forward(request, response, dial).catch((error: unknown) => {
      const [status, reason] = refusals.judge(error)
      if (response.headersSent) response.destroy()
      else answer(response, status, reason)
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  // Not the default 300 s: a push may wait for a person with its body unread, and an upload may take long.
  server.requestTimeout = 0
  server.on('connection', keep)
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy())
    tunnel(request, client, head, dial).catch((error: unknown) => {
      const [status, reason] = refusals.judge(error)
      client.end(
        `HTTP/1.1 ${status} ${status === 403 ? 'Forbidden' : 'Bad Gateway'}\r\n` +
          `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(reason)}\r\n\r\n${reason}`,
      )
    })
  })
  await new Promise<void>((resolve, reject) => {
    // The handler stays after the start: a failed accept must not end the process.
    server.on('error', reject)
    server.listen(path, resolve)
  })
  return {
    socket: path,
    refusals: refusals.list,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
