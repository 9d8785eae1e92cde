/**
 * A server of node:http that keeps nothing and knows nobody: it reads a body, writes it to whoever reads, and
 * answers. What a machine does at best for the jobs of `load.ts`, beside which the service's figures stand.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type BareServer = { port: number; token: string; close(): Promise<void> }

export async function openBareServer(): Promise<BareServer> {
  const readers = new Set<ServerResponse>()
  let id = 0
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      readers.add(response)
      response.on('close', () => readers.delete(response))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return response.flushHeaders()
    }
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      const block = `id: ${++id}\nevent: user.message\ndata: ${body}\n\n`
      for (const reader of readers) reader.write(block)
      response.writeHead(202, { 'content-type': 'application/json' }).end(`{"event_id":${id}}`)
    })
  })
  await once(server.listen(0, '127.0.0.1', 1024), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    token: 'none',
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
