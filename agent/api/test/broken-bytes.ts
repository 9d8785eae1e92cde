/** Bytes that break HTTP or RFC 6455, and what the client does with the connection afterwards. */
import { closeFrame, frame } from './live-views.ts'

/** `after`: what the client does once the bytes are written; `keep` leaves it to the server to end. */
export type Sent = { bytes: Buffer; after: 'keep' | 'end' | 'destroy' | 'reset' }
type Context = { session: string; token: string }

const sent = (bytes: string | Buffer, after: Sent['after'] = 'keep'): Sent => ({
  bytes: typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
  after,
})

const text = (words: string, options = {}): Buffer => frame(words, options)
const ping = (size: number, options = {}): Buffer => frame('x'.repeat(size), { opcode: 9, ...options })
/** The header of a frame whose length is encoded in eight bytes. */
const hugeHead = (length: bigint): Buffer => {
  const head = Buffer.alloc(14)
  head.set([0x81, 0xff])
  head.writeBigUInt64BE(length, 2)
  return head
}

export const BROKEN_FRAMES: Readonly<Record<string, Sent>> = {
  'a message over the limit': sent(frame('x'.repeat((1 << 20) + 1))),
  'a message over the limit in fragments': sent(
    Buffer.concat([text('x'.repeat(1 << 20), { fin: false }), frame('x', { opcode: 0 })]),
  ),
  'no mask': sent(text('x', { masked: false })),
  'text that is not UTF-8': sent(frame(Buffer.from([0xc3, 0x28]))),
  'text that is cut within a character': sent(frame(Buffer.from([0xe2, 0x82]))),
  'a surrogate': sent(frame(Buffer.from([0xed, 0xa0, 0x80]))),
  ...Object.fromEntries([1, 2, 4, 7].map(rsv => [`reserved bits ${rsv}`, sent(text('x', { rsv }))])),
  ...Object.fromEntries(
    [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(opcode => [`opcode ${opcode}`, sent(text('x', { opcode }))]),
  ),
  'a ping of 126 bytes': sent(ping(126)),
  'a ping in fragments': sent(ping(1, { fin: false })),
  'a pong nobody asked for': sent(frame('x', { opcode: 10 }), 'destroy'),
  'a thousand pings, and gone': sent(Buffer.concat(Array.from({ length: 1000 }, () => ping(125))), 'reset'),
  ...Object.fromEntries(
    [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map(code => [
      `close code ${code}`,
      sent(closeFrame(code)),
    ]),
  ),
  'a close frame of one byte': sent(frame('x', { opcode: 8 })),
  'a close reason that is not UTF-8': sent(closeFrame(1000, Buffer.from([0xff]))),
  'a close frame, then more': sent(Buffer.concat([closeFrame(1000), text('{"t":"nav","action":"back"}')])),
  'a continuation of nothing': sent(frame('x', { opcode: 0 })),
  'a new message within another': sent(Buffer.concat([text('a', { fin: false }), text('b')])),
  'a message that never ends': sent(text('a', { fin: false }), 'end'),
  'a length with the highest bit': sent(hugeHead(2n ** 63n)),
  'a length of 2^53': sent(hugeHead(2n ** 53n)),
  'half of a length': sent(Buffer.from([0x81, 0xfe, 0x01]), 'end'),
  'half of a mask': sent(Buffer.from([0x81, 0x85, 1, 2]), 'reset'),
  'half of a payload': sent(text('{"t":"go","url":"x"}').subarray(0, 12), 'reset'),
  'half of a payload, and an end': sent(text('{"t":"go","url":"x"}').subarray(0, 12), 'end'),
  'a message that is not JSON': sent(text('{')),
  'a binary message': sent(frame(Buffer.alloc(100, 0xff), { opcode: 2 })),
  'HTTP on the open socket': sent('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
  'a reset': sent('', 'reset'),
}

const HOST = 'Host: x\r\n'
const JSON_TYPE = 'Content-Type: application/json\r\n'

export function BROKEN_REQUESTS({ session, token }: Context): Sent[] {
  const login = `Authorization: Bearer ${token}\r\n`
  const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${login}${headers}\r\n`
  const post = (path: string, headers: string, body: string): string =>
    `POST ${path} HTTP/1.1\r\n${HOST}${login}${JSON_TYPE}${headers}\r\n${body}`
  const messages = `/v1/sessions/${session}/messages`
  const upload = `/v1/sessions/${session}/workspace/file?name=a.txt`
  const stream = `/v1/sessions/${session}/events`
  const socket = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
  const live = `/v1/sessions/${session}/browser/live`
  return [
    sent('', 'reset'),
    sent('\r\n\r\n\r\n', 'end'),
    sent('hello\r\n\r\n'),
    sent('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
    sent('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    sent(`GET /${'a'.repeat(30_000)} HTTP/1.1\r\n${HOST}\r\n`),
    sent(get('/healthz', `X: ${'a'.repeat(30_000)}\r\n`)),
    sent(get('/healthz', 'X-A: a\0b\r\n')),
    sent(get('/healthz', 'Content-Length: 10\r\n'), 'end'),
    sent(get('/healthz', 'Transfer-Encoding: chunked\r\n') + 'zz\r\n'),
    sent(get('/healthz', 'Expect: nonsense\r\n')),
    ...(['keep', 'end', 'destroy', 'reset'] as const).flatMap(after => [
      sent(get(stream), after),
      sent(get(stream).repeat(20), after),
      sent(get('/v1/inbox/stream'), after),
      sent(get('/v1/sessions/stream'), after),
      sent(get('/openapi.json').repeat(10), after),
      sent(get('/healthz').repeat(50) + 'garbage\r\n\r\n', after),
      sent(post(messages, 'Content-Length: 100\r\n', '{"content":'), after),
      sent(post(messages, 'Content-Length: 100\r\nExpect: 100-continue\r\n', ''), after),
      sent(post(messages, 'Transfer-Encoding: chunked\r\n', '5\r\n{"con'), after),
      sent(post(messages, 'Transfer-Encoding: chunked\r\n', '5\r\n{"content\r\n'), after),
      sent(post(messages, 'Transfer-Encoding: chunked\r\n', `${'f'.repeat(16)}\r\n{`), after),
      sent(post(messages, 'Content-Length: 2000000000\r\n', '{'), after),
      sent(post(upload, 'Content-Length: 100000\r\n', 'x'.repeat(50_000)), after),
      sent(
        post(messages, 'Content-Length: 2\r\n', '{}') + post(messages, 'Content-Length: 9\r\n', '{'),
        after,
      ),
    ]),
    sent(get('/v1/sessions', socket)),
    sent(get('/healthz', `${socket}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`) + '\x81\x80', 'reset'),
    sent(get(live, socket)),
    sent(get(`${live}?ticket=${'a'.repeat(43)}`, socket)),
    sent(get(`${live}?ticket=a`, `${socket}Origin: http://evil.test\r\n`), 'reset'),
    sent(get(`${live}?ticket=a`, `${socket}Origin: \xff\r\n`), 'end'),
    sent(get(`${live}?ticket=%`, `Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n`)),
    sent(get(`${live}?ticket=a`, 'Connection: Upgrade\r\nUpgrade: nonsense\r\n')),
    sent(post(`${live}?ticket=a`, `${socket}Content-Length: 5\r\n`, 'ab'), 'end'),
    sent(`CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n`),
    sent(`OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 'reset'),
  ]
}

/** A listing request with bytes changed, cut or inserted, and any end. */
export function randomBreak(random: () => number, context: Context): Sent {
  const below = (max: number): number => Math.floor(random() * max)
  const requests = BROKEN_REQUESTS(context)
  const { bytes } = requests[below(requests.length)] as Sent
  const changed = Buffer.from(bytes.subarray(0, Math.max(1, below(bytes.length + 1))))
  for (let count = below(4); count > 0 && changed.length > 0; count -= 1)
    changed[below(changed.length)] = below(256)
  const inserted = Buffer.from(Array.from({ length: below(8) }, () => below(256)))
  const at = below(changed.length + 1)
  const ends = ['keep', 'end', 'destroy', 'reset'] as const
  return sent(
    Buffer.concat([changed.subarray(0, at), inserted, changed.subarray(at)]),
    ends[below(ends.length)] as Sent['after'],
  )
}
