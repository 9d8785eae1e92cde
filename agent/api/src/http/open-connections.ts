/**
 * The server's connections and the request in progress on each. Node's own closeIdleConnections skips
 * connections that never sent a request, and those whose last response ends after the call: each would delay
 * a drain until its timeout.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type OpenConnections = {
  /** A request arrived on the connection of `res`; it is in progress until `res` is closed. */
  begin(res: ServerResponse): void
  /** Ends every connection without a request in progress, now and from now on. */
  endIdle(): void
}

export function watchConnections(server: Server): OpenConnections {
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
