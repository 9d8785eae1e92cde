/** A server of one test, on a port of its own, closed when the test is over. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { onTestFinished } from 'vitest'

/** `made` are the connections that were made to it so far. */
export async function serve(listener: RequestListener): Promise<{ url: string; made: () => number }> {
  let connections = 0
  const server = createServer(listener).listen(0, '127.0.0.1')
  server.on('connection', () => (connections += 1))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, made: () => connections }
}
