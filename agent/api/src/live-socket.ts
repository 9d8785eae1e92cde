/** `GET /v1/sessions/{id}/browser/live?ticket=…`: the one WebSocket of the service. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { AppError, asError } from '@cairn/protocol'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Services } from './deps.ts'
import type { LiveSocket } from './live-browsers.ts'

const PATH = /^\/v1\/sessions\/([^/]+)\/browser\/live$/
/** A paste may be long; nothing else is. */
const MAX_BYTES = 1 << 20
/** A reader that takes nothing for so long is cut off. */
const MAX_UNSENT = 8 << 20
const PING_MS = 20_000
const CLOSE = { refused: 4403, gone: 4404 } as const

type Deps = Pick<Services, 'browsers' | 'liveTickets' | 'log'>

type Asked = { session_id: string; ticket: string }

/** Null: the request is for something else, or for nothing that can be read. */
function askedOf({ url = '/' }: Pick<IncomingMessage, 'url'>): Asked | null {
  if (!URL.canParse(url, 'http://server')) return null
  const { pathname, searchParams } = new URL(url, 'http://server')
  const ticket = searchParams.get('ticket')
  // Ids of sessions have no character that is written in percents.
  const session_id = PATH.exec(pathname)?.[1]
  return session_id === undefined || ticket === null ? null : { session_id, ticket }
}

/** Clients offer other protocols by themselves (h2c, say): what is no live view is answered as it stands. */
export const isLiveView = (request: IncomingMessage): boolean => askedOf(request) !== null

/** The server gives upgrades here only where `isLiveView` says so. */
export function serveLiveViews(server: Server, deps: Deps): { close(): void } {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_BYTES, perMessageDeflate: false })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const asked = askedOf(request)
    if (asked === null) return refuse(socket, '404 Not Found')
    const { session_id, ticket } = asked
    if (!isSameSite(request)) return refuse(socket, '403 Forbidden')
    const user = deps.liveTickets.use(session_id, ticket)
    if (user === null) return refuse(socket, '401 Unauthorized')
    sockets.handleUpgrade(request, socket, head, opened => {
      // ws emits each frame that breaks RFC 6455 as an error of the WebSocket, and an error without a listener
      // ends the process. ws itself then sends the close code of the violation and ends the connection.
      opened.on('error', error => deps.log.info('closed a live view', { session_id, error: error.message }))
      attach(opened, session_id, user, deps).catch((thrown: unknown) => {
        if (!(thrown instanceof AppError))
          deps.log.warn('a live view did not open', { session_id, why: asError(thrown).message })
        opened.close(CLOSE.gone, thrown instanceof AppError ? thrown.code : 'internal')
      })
    })
  })
  return {
    close() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
    },
  }
}

function refuse(socket: Duplex, status: string): void {
  const answer = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
  // `end` alone would wait until the client closes its half of the connection.
  socket.end(answer, () => socket.destroy())
}

/** A page of another site cannot have a ticket; one that has is refused all the same. */
function isSameSite({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)
}

async function attach(
  socket: WebSocket,
  session_id: string,
  user: { id: string; admin: boolean },
  { browsers }: Deps,
): Promise<void> {
  const live = browsers?.() ?? null
  if (live === null) return socket.close(CLOSE.gone, 'browser_unavailable')
  const ping = setInterval(() => socket.ping(), PING_MS)
  socket.on('close', () => clearInterval(ping))
  const face: LiveSocket = {
    send(data) {
      if (socket.bufferedAmount > MAX_UNSENT) return socket.terminate()
      if (socket.readyState === socket.OPEN) socket.send(data)
    },
    close: () => socket.close(CLOSE.refused),
    onMessage: listener => socket.on('message', data => listener((data as Buffer).toString('utf8'))),
    onClose: listener => void socket.once('close', listener),
  }
  await live.attach(session_id, face, user)
}
