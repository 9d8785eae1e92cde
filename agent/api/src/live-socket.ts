/** `GET /v1/sessions/{id}/browser/live?ticket=…`: the only WebSocket of the service. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { AppError, asError } from '@cairn/protocol'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Services } from './deps.ts'
import type { LiveSocket } from './live-browsers.ts'
import type { LiveTickets, LiveViewer } from './live-tickets.ts'

const PATH = /^\/v1\/sessions\/([^/]+)\/browser\/live$/
/** Maximum message size; only a paste can be long. */
const MAX_BYTES = 1 << 20
/** Maximum buffered bytes; a client that does not read is disconnected. */
const MAX_UNSENT = 8 << 20
const CLOSE = { refused: 4403, gone: 4404 } as const

type Deps = Pick<Services, 'browsers' | 'log' | 'standing'> & {
  authenticator: Pick<Services['authenticator'], 'isStanding'>
  liveTickets: Pick<LiveTickets, 'use'>
}

type Asked = { session_id: string; ticket: string }

/** Null if the request is not for a live view or cannot be parsed. */
function askedOf({ url = '/' }: Pick<IncomingMessage, 'url'>): Asked | null {
  if (!URL.canParse(url, 'http://server')) return null
  const { pathname, searchParams } = new URL(url, 'http://server')
  const ticket = searchParams.get('ticket')
  // Session ids contain no percent-encoded characters.
  const session_id = PATH.exec(pathname)?.[1]
  return session_id === undefined || ticket === null ? null : { session_id, ticket }
}

/**
 * Clients offer other protocols by themselves, such as h2c: such an upgrade is ignored and the request is
 * answered as usual.
 */
export const isLiveView = (request: IncomingMessage): boolean => askedOf(request) !== null

/** `close` ends every open live view and rejects new ones. */
export type LiveViews = { close(): void }

type Limits = { perPrincipal: number; pingMs: number }
type Asking = { request: IncomingMessage; socket: Duplex; head: Buffer; asked: Asked; viewer: LiveViewer }

/** The server passes an upgrade here only if `isLiveView` is true for it. */
export function serveLiveViews(server: Server, deps: Deps, limits: Limits): LiveViews {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_BYTES, perMessageDeflate: false })
  const views = new Set<LiveView>()

  async function open({ request, socket, head, asked, viewer }: Asking): Promise<void> {
    // The login may have ended since the ticket was issued.
    if (!(await deps.authenticator.isStanding(viewer.identity))) return refuse(socket, '401 Unauthorized')
    const theirs = [...views].filter(view => view.person.id === viewer.person.id)
    if (theirs.length >= limits.perPrincipal) return refuse(socket, '429 Too Many Requests')
    sockets.handleUpgrade(request, socket, head, opened => {
      const view = { session_id: asked.session_id, person: viewer.person, socket: opened }
      // ws emits each frame that violates RFC 6455 as an error of the WebSocket; without a listener that
      // would end the process. ws itself then sends the close code and ends the connection.
      opened.on('error', error =>
        deps.log.info('live view closed', { session_id: view.session_id, error: error.message }),
      )
      views.add(view)
      const unwatch = deps.standing.add(viewer.identity, () => {
        views.delete(view)
        opened.close(CLOSE.refused, 'unauthenticated')
        if (![...views].some(other => isSameViewer(other, view))) releaseControl(view, deps)
      })
      opened.once('close', () => {
        unwatch()
        views.delete(view)
      })
      keepAlive(opened, limits.pingMs)
      attach(view, deps).catch((error: unknown) => {
        if (!(error instanceof AppError)) {
          const why = asError(error).message
          deps.log.warn('live view failed to open', { session_id: view.session_id, why })
        }
        opened.close(CLOSE.gone, error instanceof AppError ? error.code : 'internal')
      })
    })
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const asked = askedOf(request)
    if (asked === null) return refuse(socket, '404 Not Found')
    if (!isSameSite(request)) return refuse(socket, '403 Forbidden')
    const viewer = deps.liveTickets.use(asked.session_id, asked.ticket)
    if (viewer === null) return refuse(socket, '401 Unauthorized')
    open({ request, socket, head, asked, viewer }).catch((error: unknown) => {
      deps.log.warn('live view failed to open', { session_id: asked.session_id, why: asError(error).message })
      refuse(socket, '503 Service Unavailable')
    })
  })
  return {
    close() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
    },
  }
}

type LiveView = { session_id: string; person: LiveViewer['person']; socket: WebSocket }

const isSameViewer = (one: LiveView, other: LiveView): boolean =>
  one.session_id === other.session_id && one.person.id === other.person.id

/** Returns control of the browser to the agent if this person has it. */
function releaseControl({ session_id, person: { id } }: LiveView, { browsers, log }: Deps): void {
  // Without administrator rights, which would end the control of another person.
  browsers?.()
    ?.release(session_id, { id, admin: false })
    .catch((error: unknown) => {
      const isExpected =
        error instanceof AppError && (error.code === 'no_control' || error.code === 'no_browser')
      if (!isExpected) log.warn('browser release failed', { session_id, error: asError(error).message })
    })
}

/** Pings the client, and ends the connection if the previous ping was not answered. */
function keepAlive(socket: WebSocket, everyMs: number): void {
  let answered = true
  socket.on('pong', () => (answered = true))
  const ping = setInterval(() => {
    if (!answered) return socket.terminate()
    answered = false
    socket.ping()
  }, everyMs)
  socket.once('close', () => clearInterval(ping))
}

function refuse(socket: Duplex, status: string): void {
  const answer = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
  // `end` alone would wait until the client closes its half of the connection.
  socket.end(answer, () => socket.destroy())
}

/** A page of another site cannot get a ticket; one that has it is still rejected. */
function isSameSite({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)
}

async function attach({ session_id, person, socket }: LiveView, { browsers }: Deps): Promise<void> {
  const live = browsers?.() ?? null
  if (live === null) return socket.close(CLOSE.gone, 'browser_unavailable')
  const face: LiveSocket = {
    send(data) {
      if (socket.bufferedAmount > MAX_UNSENT) return socket.terminate()
      if (socket.readyState === socket.OPEN) socket.send(data)
    },
    close: () => socket.close(CLOSE.refused),
    // ws still emits messages while it waits for the client's close; input must no longer count by then.
    onMessage: listener =>
      socket.on('message', data => {
        if (socket.readyState === socket.OPEN) listener((data as Buffer).toString('utf8'))
      }),
    // The client may have disconnected while the browser was looked up.
    onClose: listener =>
      socket.readyState === socket.CLOSED ? listener() : void socket.once('close', listener),
  }
  await live.attach(session_id, face, person)
}
