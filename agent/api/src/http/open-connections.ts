/**
 * The connections of the server and the request under way on each. Node's own closeIdleConnections passes
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
  /** The last answer of each connection, null before the first: answers of one end in their order. */
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
