/**
 * A server that serves a log honestly but badly: it cuts, stalls, repeats, refuses, at moments taken from a
 * seed.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** mulberry32: small, seeded, good enough to pick moments. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export type Record_ = {
  id: number
  session_id: string
  type: string
  created_at: string
  data: Record<string, unknown>
}
export const frameOf = (record: Record_): string =>
  `id: ${record.id}\nevent: ${record.type}\ndata: ${JSON.stringify(record)}\n\n`

/**
 * A log whose text breaks careless readers: many-byte letters, line separators, quoted newlines, gaps of
 * pruned deltas.
 */
export function makeLog(sessionId: string, length: number, random: () => number): Record_[] {
  const words = [
    'plain',
    'zwölf',
    '日本語',
    '🚀🚀',
    'line\nbreak',
    'carriage\r\nreturn',
    '\u2028separator',
    'data: id: 7',
    '',
  ]
  let id = 0
  return Array.from({ length }, () => {
    id += random() < 0.1 ? 2 + Math.floor(random() * 5) : 1
    const content = Array.from(
      { length: Math.floor(random() * 6) },
      () => words[Math.floor(random() * words.length)],
    ).join(' ')
    return {
      id,
      session_id: sessionId,
      type: 'user.message',
      created_at: '2026-01-01T00:00:00.000Z',
      data: { content },
    }
  })
}

export type Request = { url: URL; after: number; authorization: string | undefined }
export type Hostile = { baseUrl: string; requests: Request[]; [Symbol.asyncDispose](): Promise<void> }

/** Serves every request with `answer`; closing it closes its sockets. */
export async function serve(
  answer: (request: Request, response: ServerResponse, body: string) => void,
): Promise<Hostile> {
  const requests: Request[] = []
  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '/', 'http://local')
    const request = {
      url,
      after: Number(url.searchParams.get('after') ?? 0),
      authorization: incoming.headers.authorization,
    }
    requests.push(request)
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => answer(request, response, Buffer.concat(chunks).toString()))
    // A socket the test destroys reports it here as well.
    response.on('error', () => {})
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const openStream = (response: ServerResponse, head = 'retry: 1\n: connected\n\n'): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(head)
}

export type Trouble = 'cut' | 'end' | 'stall' | 'repeat' | 'error' | 'limited'

/** One connection: some bytes of the rest of the log, in pieces of any size, and then trouble. */
export function misbehave(
  log: Record_[],
  request: Request,
  response: ServerResponse,
  random: () => number,
): Trouble {
  const pick = random()
  if (pick < 0.05) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('oops')
    return 'error'
  }
  if (pick < 0.1) {
    response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '0' }).end(
      JSON.stringify({
        type: 'about:blank',
        title: 'Too many requests',
        status: 429,
        code: 'rate_limited',
        detail: 'slow down',
        request_id: 'r',
      }),
    )
    return 'limited'
  }
  const trouble: Trouble = pick < 0.13 ? 'stall' : pick < 0.3 ? 'repeat' : pick < 0.5 ? 'end' : 'cut'
  const from = trouble === 'repeat' ? Math.max(0, request.after - Math.floor(random() * 8)) : request.after
  const rest = log.filter(record => record.id > from).slice(0, 40)
  const doubled =
    trouble === 'repeat' ? rest.flatMap(record => (random() < 0.3 ? [record, record] : [record])) : rest
  const bytes = Buffer.from(
    'retry: 1\n: connected\n\n' +
      doubled.map(record => (random() < 0.1 ? ': keep-alive\n\n' : '') + frameOf(record)).join(''),
  )
  const cut = Math.floor(random() * Math.min(bytes.length, 2500))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let at = 0; at < cut;) {
    const size = 1 + Math.floor(random() * 700)
    response.write(bytes.subarray(at, Math.min(cut, at + size)))
    at += size
  }
  if (trouble === 'end' || trouble === 'repeat') response.end()
  else if (trouble === 'cut') response.write('', () => response.destroy())
  // A stalled one stays open and silent until the client gives it up.
  return trouble
}
