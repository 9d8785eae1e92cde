/**
 * Bytes that two HTTP parsers may interpret as different requests: a proxy in front of Cairn might forward
 * one request where Cairn would answer two, or another one (RFC 9112). Each is rejected, and nothing that
 * hides behind it is answered (contract 4.4).
 */
import { connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { startService } from '../service.ts'

const service = await startService()
afterAll(() => service[Symbol.asyncDispose]())

/** Collects the bytes that the server sends until it ends the connection or pauses. */
function exchange(bytes: string): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(service.port, '127.0.0.1')
    let text = ''
    socket.setTimeout(400, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
    socket.write(Buffer.from(bytes, 'latin1'))
  })
}
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

const HOST = 'Host: x\r\n'
const JSON_BODY = 'Content-Type: application/json\r\n'
const HIDDEN = `GET /v1/about HTTP/1.1\r\n${HOST}\r\n`
const post = (headers: string, body: string): string =>
  `POST /v1/auth/login HTTP/1.1\r\n${HOST}${JSON_BODY}${headers}\r\n${body}`
const get = (headers: string): string => `GET /healthz HTTP/1.1\r\n${headers}\r\n`
const login = '{"email":"a@b.c","password":"x"}'

/** A different parser must not find a second request in these. */
const AMBIGUOUS: Record<string, string> = {
  'two Host headers': get(`${HOST}Host: y\r\n`),
  'the same Host twice': get(`${HOST}${HOST}`),
  'two Host headers in other cases': get(`HOST: x\r\nhoSt: y\r\n`),
  'no Host header': get(''),
  'length and chunks': post(
    `Content-Length: ${login.length}\r\nTransfer-Encoding: chunked\r\n`,
    `0\r\n\r\n${HIDDEN}`,
  ),
  'chunks and length': post(`Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`, `0\r\n\r\n${HIDDEN}`),
  'two lengths': post(`Content-Length: ${login.length}\r\nContent-Length: 5\r\n`, login + HIDDEN),
  'the same length twice': post(
    `Content-Length: ${login.length}\r\nContent-Length: ${login.length}\r\n`,
    login + HIDDEN,
  ),
  'a list of lengths': post(`Content-Length: 5, 5\r\n`, `hello${HIDDEN}`),
  'a length with a sign': post(`Content-Length: +5\r\n`, `hello${HIDDEN}`),
  'a negative length': post(`Content-Length: -1\r\n`, HIDDEN),
  'a hexadecimal length': post(`Content-Length: 0x5\r\n`, `hello${HIDDEN}`),
  'a length with a space in it': post(`Content-Length: 1 5\r\n`, `hello${HIDDEN}`),
  'a length without end': post(`Content-Length: ${'9'.repeat(40)}\r\n`, HIDDEN),
  'an unknown coding before chunked': post(`Transfer-Encoding: xchunked\r\n`, `0\r\n\r\n${HIDDEN}`),
  'chunked, then another coding': post(`Transfer-Encoding: chunked, identity\r\n`, `0\r\n\r\n${HIDDEN}`),
  'two codings in two headers': post(
    `Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n`,
    `0\r\n\r\n${HIDDEN}`,
  ),
  'a coding with a vertical tab': post(`Transfer-Encoding: \x0bchunked\r\n`, `0\r\n\r\n${HIDDEN}`),
  'a space before the colon': post(`Transfer-Encoding : chunked\r\n`, `0\r\n\r\n${HIDDEN}`),
  'a header that goes on in the next line': get(`${HOST}X-A: b\r\n Transfer-Encoding: chunked\r\n`),
  'line feeds alone': `GET /healthz HTTP/1.1\nHost: x\n\n${HIDDEN}`,
  'a line feed alone before a header': `GET /healthz HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n`,
  'a carriage return in a header': get(`${HOST}X-A: b\rX-B: c\r\n`),
  'a zero byte in a header': get(`${HOST}X-A: b\0c\r\n`),
  'a header without a name': get(`${HOST}: b\r\n`),
  'a header without a colon': get(`${HOST}nothing\r\n`),
  'a chunk size that is no number': post('Transfer-Encoding: chunked\r\n', `zz\r\nhello\r\n0\r\n\r\n`),
  'a negative chunk size': post('Transfer-Encoding: chunked\r\n', `-5\r\nhello\r\n0\r\n\r\n`),
  'a chunk size with 0x': post('Transfer-Encoding: chunked\r\n', `0x5\r\nhello\r\n0\r\n\r\n`),
  'a chunk size beyond 64 bits': post('Transfer-Encoding: chunked\r\n', `${'f'.repeat(17)}\r\nhello\r\n`),
  'a chunk that is longer than it says': post('Transfer-Encoding: chunked\r\n', `2\r\nhello\r\n0\r\n\r\n`),
  'a chunk size that ends in a line feed': post('Transfer-Encoding: chunked\r\n', `5\nhello\r\n0\r\n\r\n`),
  'a request line with a tab': `GET\t/healthz HTTP/1.1\r\n${HOST}\r\n`,
  'a path with a space': `GET /health z HTTP/1.1\r\n${HOST}\r\n`,
  'a method in small letters': `get /healthz HTTP/1.1\r\n${HOST}\r\n`,
  'a method that nobody knows': `STEAL /healthz HTTP/1.1\r\n${HOST}\r\n`,
  'another protocol': `GET /healthz ICY/1.1\r\n${HOST}\r\n`,
  'version 2.0': `GET /healthz HTTP/2.0\r\n${HOST}\r\n`,
  'version 1.9': `GET /healthz HTTP/1.9\r\n${HOST}\r\n`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a hello of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'an address of 20,000 characters': `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`,
  'a header of 20,000 characters': get(`${HOST}X-A: ${'a'.repeat(20_000)}\r\n`),
  '3,000 headers': get(`${HOST}${'X-A: b\r\n'.repeat(3000)}`),
}

const SOCKET = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
/** Valid requests: answered once, as one request and with content of this server. */
const HARMLESS: Record<string, readonly [bytes: string, status: number[]]> = {
  'another host in the request line': [`GET http://evil.test/v1/sessions HTTP/1.1\r\n${HOST}\r\n`, [400]],
  'a request line with three spaces': [`GET   /healthz HTTP/1.1\r\n${HOST}\r\n`, [200]],
  'a way through a proxy': [`CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n`, []],
  'an upgrade to HTTP/2': [get(`${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n`), [200]],
  'an upgrade to a socket': [
    get(`${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n`),
    [200],
  ],
  'an upgrade of a live view whose session cannot be decoded': [
    `GET /v1/sessions/%/browser/live?ticket=x HTTP/1.1\r\n${HOST}${SOCKET}\r\n`,
    [401],
  ],
  'an upgrade of an address that is none': [
    `GET http://[/browser/live?ticket=x HTTP/1.1\r\n${HOST}${SOCKET}\r\n`,
    [400],
  ],
  'an echo of what was sent': [`TRACE /healthz HTTP/1.1\r\n${HOST}X-Secret: s\r\n\r\n`, [405]],
  'a method in another header': [get(`${HOST}X-HTTP-Method-Override: DELETE\r\n`), [200]],
  'an asterisk': [`OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, [404, 405]],
  'a length on a GET': [
    `GET /healthz HTTP/1.1\r\n${HOST}Content-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    [200],
  ],
  'names of prototypes as headers': [get(`${HOST}__proto__: x\r\nconstructor: y\r\n`), [200]],
}

function judge(text: string, allowed: readonly number[]): void {
  const found = statuses(text)
  const problems = [
    ...found.filter(status => !allowed.includes(status)).map(status => `answered ${status}`),
    ...(found.length > 1 ? [`answered ${found.length} times`] : []),
    ...(text.includes('"agents"') ? ['answered what was hidden'] : []),
    ...(text.includes('X-Secret') ? ['echoed a header'] : []),
  ]
  tally('http framing', 1, problems.length > 0 ? 1 : 0)
  expect(problems).toEqual([])
}

/** Promise 4.4: The server rejects requests that a proxy could interpret as a different request. */
test.each(Object.entries(AMBIGUOUS))('rejects %s and answers nothing behind it', async (_what, bytes) =>
  judge(await exchange(bytes), [400, 405, 408, 413, 431, 501, 505]),
)

test.each(Object.entries(HARMLESS))(
  'answers %s once with content of this server',
  async (_what, [bytes, allowed]) => judge(await exchange(bytes), allowed),
)

/** Promise 4.4: A pipelined stream adds no bytes to another response. */
test('a pipelined stream adds no bytes to the answer before it', async () => {
  const session = await service.newSession()
  await service.say(session, 'once only')
  const login = `Authorization: Bearer ${service.adminToken}\r\n`
  const about = `GET /v1/about HTTP/1.1\r\n${HOST}${login}\r\n`
  const stream = `GET /v1/sessions/${session}/events HTTP/1.1\r\n${HOST}${login}\r\n`
  const behindAnswer = await exchange(about + stream)
  expect(statuses(behindAnswer)).toEqual([200, 400])
  expect(behindAnswer).not.toContain('text/event-stream')
  const behindStream = await exchange(stream + stream + stream)
  expect(statuses(behindStream)).toEqual([200])
  expect(behindStream.split('once only')).toHaveLength(2)
  tally('http framing', 2, 0)
})

test('after all attempts the server answers as before', async () => {
  expect((await service.call('/healthz')).status).toBe(200)
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
})
