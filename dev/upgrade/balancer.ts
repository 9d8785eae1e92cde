/**
 * The proxy between clients and the replicas, as a load balancer does it: each request goes to the next
 * replica that reports itself ready. A connection that breaks within a request breaks for the client too.
 */
import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as sendRequest,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

const PROBE_MS = 200

/** A request with an Idempotency-Key that the proxy sent to a replica: the status or error, and how long it took. */
export type Forwarded = { key: string; url: string; outcome: string; ms: number }

export type Balancer = { url: string; forwarded: readonly Forwarded[]; close(): Promise<void> }

export async function startBalancer(replicas: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: false })
  const ready = new Set(replicas)
  const forwarded: Forwarded[] = []
  let next = 0

  const probe = async (url: string): Promise<void> => {
    const isReady = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) ready.add(url)
    else ready.delete(url)
  }
  const timer = setInterval(() => void Promise.all(replicas.map(probe)), PROBE_MS)

  /** Every replica, those that are ready first, each time another one. */
  function order(): string[] {
    next += 1
    const turned = replicas.map((_, at) => replicas[(at + next) % replicas.length] ?? '')
    return [...turned.filter(url => ready.has(url)), ...turned.filter(url => !ready.has(url))]
  }

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const key = incoming.headers['idempotency-key']
    for (const url of order()) {
      const from = performance.now()
      const upstream = sendRequest(new URL(incoming.url ?? '/', url), {
        method: incoming.method,
        headers: incoming.headers,
        agent,
      })
      outgoing.once('close', () => upstream.destroy())
      const answer = await new Promise<IncomingMessage | NodeJS.ErrnoException>(resolve => {
        upstream.once('response', resolve)
        upstream.on('error', resolve)
        upstream.end(body)
      })
      if (typeof key === 'string') {
        const outcome = answer instanceof Error ? (answer.code ?? answer.message) : String(answer.statusCode)
        forwarded.push({ key, url, outcome, ms: performance.now() - from })
      }
      if (!(answer instanceof Error)) {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        outgoing.flushHeaders()
        answer.on('error', () => outgoing.destroy())
        answer.on('aborted', () => outgoing.destroy())
        answer.pipe(outgoing)
        return
      }
      // Nothing was sent to a replica that does not listen.
      if (answer.code !== 'ECONNREFUSED') break
      ready.delete(url)
    }
    outgoing.destroy()
  }

  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy())
  })
  // Streams last, and the client gives up by itself.
  server.requestTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forwarded,
    async close() {
      clearInterval(timer)
      server.close()
      server.closeAllConnections()
      agent.destroy()
      await once(server, 'close')
    },
  }
}
