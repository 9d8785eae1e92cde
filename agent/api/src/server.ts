/** The HTTP service: its listener, its routes, and its shutdown. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { AppError } from '@cairn/protocol'
import { createAuthenticator } from './auth/authenticate.ts'
import { createExternalIssuer } from './auth/external-issuer.ts'
import { createHashQueue } from './auth/hash-queue.ts'
import { createLoginThrottle } from './auth/login-throttle.ts'
import { createClientAddress } from './client-address.ts'
import { createStandingWatch } from './auth/standing.ts'
import { loadSigningKey } from './auth/signing-key.ts'
import type { ApiDeps, Services } from './deps.ts'
import type { Logger } from './logger.ts'
import { type Tuning, TUNING } from './tuning.ts'
import { createDispatch } from './http/dispatch.ts'
import { type Exchange, openExchange } from './http/exchange.ts'
import { checkFraming, refuseMalformed } from './http/malformed.ts'
import { besideMounts, isMounted } from './http/mounts.ts'
import { answerProblem } from './http/problem.ts'
import { createRateLimit } from './http/rate-limit.ts'
import { discardBody } from './http/read-body.ts'
import { HANDLERS } from './routes/index.ts'
import { isLiveView, serveLiveViews } from './live-socket.ts'
import { createLiveTickets } from './live-tickets.ts'
import { createSessionGuard } from './session-guard.ts'
import { createSpanFolds } from './span-folds.ts'
import { createReadiness } from './site/readiness.ts'
import { createMetrics, createRegistry } from './site/metrics.ts'
import { createSite } from './site/site.ts'
import { shownSessions } from './routes/session-view.ts'
import { createSessionChanges } from './sse/session-changes.ts'
import { createStreams } from './sse/streams.ts'

export type Api = {
  server: Server
  handler: (req: IncomingMessage, res: ServerResponse) => void
  /** Resolves with the address once the server listens; port 0 picks a free port. */
  listen(port: number, host: string): Promise<AddressInfo>
  /** `/readyz` fails from now on, so that load balancers send no more requests; all else continues. */
  announceDrain(): void
  /**
   * Accepts no new connections or streams. Open streams end with the comment `draining`. Resolves when every
   * request is answered.
   */
  drain(): Promise<void>
  /** Ends all remaining connections. */
  close(): Promise<void>
}

type HandlerDeps = Pick<ApiDeps, 'probesOnly' | 'newId' | 'log' | 'mounts'> & {
  untakenMs: number
  metrics: Services['metrics']
  dispatch: (exchange: Exchange) => Promise<void>
  site: (exchange: Exchange) => Promise<void>
  begin: (res: ServerResponse) => void
}

/** Handles one request. Any error becomes a problem document. */
function createHandler(deps: HandlerDeps) {
  const { probesOnly, newId, log, untakenMs, metrics, dispatch, site, begin } = deps
  async function answer(exchange: Exchange): Promise<void> {
    try {
      checkFraming(exchange.req)
      if (exchange.path.startsWith('/v1/') || isMounted(deps, exchange.path)) {
        if (probesOnly === true) throw new AppError('not_found', 'This process is a worker and has no API.')
        await dispatch(exchange)
      } else await site(exchange)
      metrics.request(exchange.route, exchange.res.statusCode, performance.now() - exchange.startedAt)
    } catch (error) {
      discardBody(exchange)
      const { status } = answerProblem(exchange, error, log)
      metrics.request(exchange.route, status, performance.now() - exchange.startedAt)
    }
  }
  return (expectsContinue: boolean) =>
    (req: IncomingMessage, res: ServerResponse): void => {
      begin(res)
      const exchange = openExchange(req, res, newId, { expectsContinue, untakenMs })
      answer(exchange).catch((error: unknown) => {
        log.error('request handling failed', { request_id: exchange.id, error: String(error) })
        res.destroy()
      })
    }
}

const tellUnknownProxy = (address: string): string =>
  `requests from ${address} have an X-Forwarded-For header, but auth.trusted_proxies does not ` +
  'list that address. If it is your proxy, add it: until then all clients behind it share one ' +
  'address'

const createListener = (tuning: Tuning): Server =>
  createServer({
    keepAliveTimeout: 75_000,
    headersTimeout: tuning.headersMs,
    requestTimeout: tuning.requestMs,
    connectionsCheckingInterval: tuning.lookMs,
    shouldUpgradeCallback: isLiveView,
  })

export async function createApi(deps: ApiDeps): Promise<Api> {
  const { store, config, dataDir, now, log, monotonic = () => performance.now() } = deps
  const tuning = { ...TUNING, ...deps.tuning }
  let isLeaving = false
  let isDraining = false
  const key = await loadSigningKey(dataDir)
  const authenticator = createAuthenticator({
    store,
    key,
    external: createExternalIssuer(config.auth),
    now,
    monotonic,
  })
  const { isStanding } = authenticator
  const standing = createStandingWatch({ isStanding, everyMs: tuning.standingMs, log })
  const perPrincipal = config.limits.streams_per_principal
  const streams = createStreams({
    store,
    log,
    tuning,
    perPrincipal,
    standing,
    onDelivered: events => metrics.delivered(events),
  })
  const counted = { streams: streams.count, harness: deps.harnessStats, leases: store.leases, monotonic }
  const metrics = createMetrics(deps.metrics ?? createRegistry(), counted)
  const services: Services = {
    ...deps,
    key,
    authenticator,
    throttle: createLoginThrottle(monotonic),
    hashQueue: createHashQueue(),
    clientAddress: createClientAddress(config.auth.trusted_proxies, address =>
      log.warn(tellUnknownProxy(address)),
    ),
    guard: createSessionGuard(store),
    spans: createSpanFolds(store),
    streams,
    sessionChanges: createSessionChanges({ store, log, shown: rows => shownSessions({ store }, rows) }),
    liveTickets: createLiveTickets(now),
    standing,
    metrics,
    isReady: createReadiness(store, () => isLeaving || isDraining),
  }
  const limit = createRateLimit(config.limits.requests_per_minute, monotonic)
  const dispatch = besideMounts(services, limit, createDispatch(services, HANDLERS, limit))
  const site = createSite(services)

  const server = createListener(tuning)
  const connections = watchConnections(server)
  const { begin } = connections
  const handle = createHandler({ ...deps, untakenMs: tuning.idleMs, metrics, dispatch, site, begin })
  server.on('request', handle(false))
  server.on('checkContinue', handle(true))
  server.on('clientError', refuseMalformed)
  const views = serveLiveViews(server, services, { perPrincipal, pingMs: tuning.pingMs })

  return {
    server,
    handler: handle(false),
    listen: (port, host) => listen(server, port, host, log),
    announceDrain: () => {
      isLeaving = true
    },
    drain: () => {
      isDraining = true
      streams.drain()
      views.close()
      connections.endIdle()
      return closeServer(server)
    },
    close: () => {
      isDraining = true
      standing.stop()
      streams.close()
      views.close()
      return endServer(server)
    },
  }
}

const listen = (server: Server, port: number, host: string, log: Logger): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, 1024, () => {
      server.off('error', reject)
      // Without a listener, an error of a connection that could not be accepted would end the process.
      server.on('error', error => log.warn('failed to accept a connection', { error: error.message }))
      resolve(server.address() as AddressInfo)
    })
  })

function endServer(server: Server): Promise<void> {
  const closed = closeServer(server)
  server.closeAllConnections()
  return closed
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    if (!server.listening) return resolve()
    server.close(error =>
      error && (error as NodeJS.ErrnoException).code !== 'ERR_SERVER_NOT_RUNNING' ? reject(error) : resolve(),
    )
  })

type OpenConnections = {
  /** A request arrived on the connection of `res`; it is in progress until `res` is closed. */
  begin(res: ServerResponse): void
  /** Ends every connection without a request in progress, now and from now on. */
  endIdle(): void
}

/**
 * The server's connections and the request in progress on each. Node's own closeIdleConnections skips
 * connections that never sent a request, and those whose last response ends after the call: each would delay
 * a drain until its timeout.
 */
function watchConnections(server: Server): OpenConnections {
  /**
   * The last response of each connection, null before the first: responses of one connection end in order.
   */
  const last = new Map<Socket, ServerResponse | null>()
  let isEnding = false
  function endWhenIdle(socket: Socket): void {
    const res = last.get(socket)
    if (res === undefined) return
    if (res === null || res.closed) socket.destroySoon()
    else res.once('close', () => endWhenIdle(socket))
  }
  server.on('connection', socket => {
    last.set(socket, null)
    socket.once('close', () => last.delete(socket))
    if (isEnding) endWhenIdle(socket)
  })
  return {
    begin(res) {
      const { socket } = res.req
      if (last.has(socket)) last.set(socket, res)
    },
    endIdle() {
      isEnding = true
      for (const socket of last.keys()) endWhenIdle(socket)
    },
  }
}
