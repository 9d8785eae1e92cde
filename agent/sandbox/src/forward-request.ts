/** One request or one tunnel through the policy proxy, after `dial` has judged its target. */
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import type { OnReadOpts, Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { pipeline as pipeEnd } from 'node:stream/promises'

/** Refused by a rule, as opposed to a network failure. */
export class Refused extends Error {}

/** Hop-by-hop headers (RFC 9110, 7.6.1), and those of proxies. */
const HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Connects to the target of `url`; rejects with `Refused` for forbidden targets. With `onread`, data goes
 * there instead of into the stream.
 */
export type Dial = (url: URL, onread?: OnReadOpts) => Promise<Socket>

export function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${text}\n`)
}

export async function forward(request: IncomingMessage, response: ServerResponse, dial: Dial): Promise<void> {
  const text = request.url ?? ''
  if (!URL.canParse(text) || new URL(text).protocol !== 'http:')
    throw new Refused(`'${text.slice(0, 200)}' is not an http URL; https requires CONNECT`)
  const url = new URL(text)
  const socket = await dial(url)
  const dropped = new Set([...HOP_HEADERS, ...namesIn(request.headers.connection)])
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !dropped.has(name) && name !== 'host'),
  )
  response.once('close', () => socket.destroy())
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    const upstream = httpRequest({
      method: request.method,
      path: url.pathname + url.search,
      headers: { ...headers, host: url.host, connection: 'close' },
      createConnection: () => socket,
    })
    upstream.on('error', reject)
    upstream.once('response', resolve)
    upstream.once('upgrade', () => {
      socket.destroy()
      reject(new Error(`'${url.host}' switched to another protocol without being asked`))
    })
    pipeline(request, upstream, error => error && reject(error))
  })
  const gone = new Set([...HOP_HEADERS, ...namesIn(answered.headers.connection)])
  const kept = Object.entries(answered.headers).filter(([name]) => !gone.has(name))
  // Throws for a status such as 099, which Node parses but does not write. The caller catches it here; in a
  // listener of the response it would end the process.
  response.writeHead(answered.statusCode ?? 502, Object.fromEntries(kept))
  await pipeEnd(answered, response)
}

const namesIn = (header: string | undefined): string[] =>
  (header ?? '').split(',').map(name => name.trim().toLowerCase())

export async function tunnel(
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
  dial: Dial,
): Promise<void> {
  const authority = request.url ?? ''
  const port = /:(\d{1,5})$/.exec(authority)?.[1]
  if (port === undefined || !URL.canParse(`https://${authority}`))
    throw new Refused(`'${authority.slice(0, 200)}' is not a host and a port`)
  // The default port of https is 443; any other stays in the URL.
  const download = pourInto(client)
  const socket = await dial(new URL(`https://${authority}`), download.onread)
  download.from(socket)
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
  if (head.length > 0) socket.write(head)
  // A failure in one direction ends both.
  pipeline(client, socket, () => socket.destroy())
  client.once('close', () => socket.destroy())
  socket.once('end', () => client.end())
  socket.once('close', () => client.writableEnded || client.destroy())
}

const PIECE_BYTES = 128 * 1024
/** Double buffering: one is filled while the other is written. */
const MAX_CHUNKS = 2

/**
 * Forwards data in reused buffers: streams would copy it in newly allocated 64 KB chunks, which takes twice
 * the CPU time. Applies backpressure to the sender.
 */
function pourInto(to: Duplex): { onread: OnReadOpts; from(socket: Socket): void } {
  const free: Buffer[] = []
  let written = 0
  let source: Socket | null = null
  return {
    from: socket => void (source = socket),
    onread: {
      buffer: () => free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES),
      callback(bytes, piece) {
        written += 1
        to.write(piece.subarray(0, bytes), () => {
          free.push(piece as Buffer)
          written -= 1
          if (written === MAX_CHUNKS - 1) source?.resume()
        })
        return written < MAX_CHUNKS
      },
    },
  }
}
