/**
 * A TCP proxy in front of Postgres that cuts the connection at the COMMIT of a writer: before it arrives, or
 * after it was executed.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type CuttingProxy = {
  /** The place as reached through the proxy. */
  place: string
  /** Cuts the next COMMIT; resolves when that has happened. */
  cutNext(when: 'before' | 'after'): Promise<void>
  close(): Promise<void>
}

export async function startCuttingProxy(place: string): Promise<CuttingProxy> {
  const target = new URL(place)
  const sockets = new Set<Socket>()
  let armed: { when: 'before' | 'after'; done: () => void } | null = null

  const server = createServer(client => {
    const upstream = connect(Number(target.port), target.hostname)
    let swallow = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on('data', (chunk: Buffer) => {
      if (armed !== null && chunk.includes('COMMIT\0')) {
        const { when, done } = armed
        armed = null
        if (when === 'before') {
          end()
          done()
          return
        }
        swallow = true
        upstream.on('data', (answer: Buffer) => {
          // The command tag: the transaction is on disk, and the client gets no answer.
          if (!answer.includes('COMMIT\0')) return
          end()
          done()
        })
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk: Buffer) => {
      if (!swallow) client.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const through = new URL(place)
  through.port = String((server.address() as AddressInfo).port)
  return {
    place: through.href,
    cutNext: when =>
      new Promise(resolve => {
        armed = { when, done: resolve }
      }),
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
