/**
 * The connections of the server and the requests under way on each. Node's own closeIdleConnections passes
 * over a connection that never sent a request, and over one whose last answer ends after it looked: each
 * would hold a drain up until its time is over.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type OpenConnections = {
  /** A request came in on the connection of `res`; it is under way until `res` is closed. */
  begin(res: ServerResponse): void
  /** Ends every connection that no request is under way on, now and from now on. */
  endIdle(): void
}

export function watchConnections(server: Server): OpenConnections {
  const underWay = new Map<Socket, number>()
  let isEnding = false
  const endIfIdle = (socket: Socket): void => {
    if (isEnding && underWay.get(socket) === 0) socket.destroySoon()
  }
  server.on('connection', socket => {
    underWay.set(socket, 0)
    socket.once('close', () => underWay.delete(socket))
    endIfIdle(socket)
  })
  return {
    begin(res) {
      const { socket } = res
      if (socket === null) return
      underWay.set(socket, (underWay.get(socket) ?? 0) + 1)
      res.once('close', () => {
        const before = underWay.get(socket)
        if (before === undefined) return
        underWay.set(socket, before - 1)
        endIfIdle(socket)
      })
    },
    endIdle() {
      isEnding = true
      for (const socket of underWay.keys()) endIfIdle(socket)
    },
  }
}
