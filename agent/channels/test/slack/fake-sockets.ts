/** The server's side of Socket Mode: https://docs.slack.dev/apis/events-api/using-socket-mode */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'

type Json = Record<string, unknown>

export function startSockets(server: Server, appToken: string) {
  const wss = new WebSocketServer({ noServer: true })
  const acknowledged: string[] = []
  /** The next answer of `apps.connections.open` instead of an address. */
  const refusals: string[] = []
  let opened = 0
  let sent = 0
  server.on('upgrade', (req, socket, head) => {
    wss.handleUpgrade(req, socket, head, ws => {
      opened += 1
      ws.on('message', data =>
        acknowledged.push((JSON.parse(String(data)) as { envelope_id: string }).envelope_id),
      )
      ws.send(
        JSON.stringify({
          type: 'hello',
          num_connections: wss.clients.size,
          connection_info: { app_id: 'A1' },
        }),
      )
    })
  })
  const live = (): WebSocket[] => [...wss.clients].filter(({ readyState }) => readyState === WebSocket.OPEN)
  return {
    acknowledged,
    refuse: (...errors: string[]) => void refusals.push(...errors),
    opened: () => opened,
    count: () => live().length,
    open(authorization: string | undefined): Json {
      const error = refusals.shift() ?? (authorization === `Bearer ${appToken}` ? null : 'invalid_auth')
      if (error !== null) return { ok: false, error }
      return { ok: true, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/link` }
    },
    /** Sends it over one socket, as Slack does; returns the id for its acknowledgement. */
    send(payload: Json, type = payload['type'] === 'block_actions' ? 'interactive' : 'events_api'): string {
      const [socket] = live()
      if (socket === undefined) throw new Error('nobody has opened a socket')
      const envelope_id = `env-${++sent}`
      socket.send(JSON.stringify({ type, envelope_id, payload, accepts_response_payload: false }))
      return envelope_id
    },
    /** Slack renews its sockets every few hours. */
    renew: () =>
      live().forEach(socket =>
        socket.send(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' })),
      ),
    kill: () => live().forEach(socket => socket.terminate()),
    close: () => wss.clients.forEach(socket => socket.terminate()),
  }
}
