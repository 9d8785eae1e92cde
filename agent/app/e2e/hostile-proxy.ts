/**
 * A TCP proxy that behaves like the worst networks, at times chosen by a seed: it cuts, stalls and delays
 * streams, and forwards data in batches.
 */
import { createServer, connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export type Trouble = 'cut' | 'reset' | 'stall' | 'lumps' | 'trickle'
export type HostileProxy = AsyncDisposable & {
  url: string
  connections: number
  troubles: Record<Trouble, number>
}

/** Bytes collected before they are forwarded, as in a buffering proxy. */
const LUMP_BYTES = 4096

export async function startHostileProxy(target: string, random: () => number): Promise<HostileProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const troubles: HostileProxy['troubles'] = { cut: 0, reset: 0, stall: 0, lumps: 0, trickle: 0 }
  const kinds = Object.keys(troubles) as Trouble[]
  const proxy = { connections: 0 }

  const server = createServer(client => {
    // The first connections get each kind of trouble once, later ones a random kind.
    const trouble = kinds[proxy.connections] ?? kinds[Math.floor(random() * kinds.length)] ?? 'cut'
    proxy.connections++
    troubles[trouble]++
    /**
     * Remaining bytes of the server's data. A connection gets its headers and some frames, and is rarely cut
     * between frames.
     */
    let left = 300 + Math.floor(random() ** 2 * 20_000)
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    let lump: Buffer[] = []
    const end = (): void => {
      if (trouble === 'reset') client.resetAndDestroy()
      else if (trouble === 'stall') upstream.pause()
      else client.end()
      if (trouble === 'stall') setTimeout(() => client.destroy(), 300 + random() * 700).unref()
    }
    upstream.on('data', (bytes: Buffer) => {
      if (left <= 0) return
      const piece = bytes.subarray(0, left)
      left -= piece.length
      lump.push(piece)
      const size = lump.reduce((sum, { length }) => sum + length, 0)
      if (trouble === 'lumps' && size < LUMP_BYTES && left > 0) return
      const ready = Buffer.concat(lump)
      lump = []
      if (trouble === 'trickle')
        for (let at = 0; at < ready.length; at += 7) client.write(ready.subarray(at, at + 7))
      else client.write(ready)
      if (left <= 0) end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    troubles,
    get connections() {
      return proxy.connections
    },
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
