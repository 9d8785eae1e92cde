/** Malformed requests: every one gets a status below 500, and the server keeps working. */
import { connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { PARAMETERS } from '../../src/parameters/tables.ts'
import { openFixture } from '../server-fixture.ts'
import { attempts, tally } from './attacks.ts'

const lines: string[] = []
const template =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls }}{% endfor %}{{ tools | tojson }}'
const server = await openFixture({ maxModelLen: 64, chatTemplate: template, log: line => lines.push(line) })
afterAll(() => server.close())
const { port } = new URL(server.url)

const seed = Number(process.env['ATTACK_SEED'] ?? Math.floor(Math.random() * 2 ** 30))

/** mulberry32: the same attempts for the same seed. */
function createRandom(state: number): (below: number) => number {
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

/** Sends bytes on a new connection and returns the status of the answer, or 0 without one. */
function send(bytes: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1')
    const parts: Buffer[] = []
    const limit = setTimeout(() => reject(new Error(`no end after ${JSON.stringify(String(bytes))}`)), 60_000)
    socket.on('data', part => parts.push(part))
    // The server ends a connection with invalid data by a reset after the answer.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(limit)
      const text = Buffer.concat(parts).toString('latin1')
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text })
    })
    // A client that ends its side counts as disconnected, so this one does not end it.
    socket.write(bytes)
  })
}

const PATHS = [
  '/health',
  '/ping',
  '/version',
  '/metrics',
  '/v1/models',
  '/v1/models/base',
  '/v1/completions',
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/load_lora_adapter',
  '/v1/unload_lora_adapter',
  '/tokenize',
  '/detokenize',
]
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'QUERY', 'PROPFIND']
/** Path suffixes: malformed percent-encodings, other encodings, and what a URL parser may reject. */
const ENDS = [
  '%',
  '%%',
  '%a',
  '%zz',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  '%00',
  '/%2e%2e/%2e%2e/etc/passwd',
  '/../../etc/passwd',
  '/..%5c..',
  '//',
  '?%',
  '?a=%&%=1',
  '#%',
  ';a=b',
  '/é',
  '/\u0000',
  '/constructor',
  '/__proto__',
  '\\',
  '/'.repeat(500),
]
const TARGETS = [
  '//',
  '///',
  '//[',
  '//a:b@c',
  'http://',
  'http://[::1',
  'http://%/v1/models',
  'ftp://localhost/health',
  'localhost:80',
  '*',
  '/v1/models/%',
  '/v1/models/%25',
  '/v1/models/toString',
]
const VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  '',
  'a',
  '\u0000',
  '\ud800',
  '__proto__',
  [],
  [null],
  [[]],
  ['a'],
  [1],
  [1e20],
  [-0],
  {},
  { type: 'text' },
  { toString: 1 },
  { __proto__: null, a: 1 },
  { type: 'function', function: { name: 'f' } },
  { role: 'user', content: 'a' },
  [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
  [{ role: 'assistant', content: null, tool_calls: [{ function: { name: 'f', arguments: '{' } }] }],
  [{ type: 'function', function: { name: 'f', parameters: { type: 'object', $ref: '#' } } }],
  { type: 'json_schema', json_schema: { name: 'a', schema: { $ref: '#/%' } } },
  { type: 'object', properties: { __proto__: { type: 'string' } } },
  { json: {} },
  { regex: '[' },
  { grammar: 'root ::= ' },
  { choice: [''] },
]
/** Values close to valid ones, so that most of a body is read. */
const LIKELY: unknown[] = [null, true, false, 0, 1, 2, 0.5, 'a', 'auto', 'required', ['a'], [65], [1, 2], {}]
const LIKELY_OF: Record<string, unknown[]> = {
  messages: [
    [{ role: 'user', content: 'a' }],
    [{ role: 'user', content: [{ type: 'text', text: '\ud800' }] }],
    [{ role: 'assistant', content: null, tool_calls: [{ function: { name: '', arguments: '1e999' } }] }],
    [{ role: 'tool', content: '' }],
    [{ role: '', content: 'a', name: 'b', tool_call_id: '__proto__' }],
  ],
  tools: [
    [{ type: 'function', function: { name: 'f' } }],
    [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    [{ type: 'function', function: { name: '', parameters: { enum: [Infinity, -0] } } }],
    [{ type: 'function', name: 'f' }],
  ],
  tool_choice: ['none', { type: 'function', function: { name: 'f' } }, { type: 'function', name: 'f' }],
  response_format: [
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'a', schema: true } },
  ],
  structured_outputs: [{ json: true }, { regex: 'a*' }, { choice: ['a'] }, { grammar: 'root ::= "a"' }],
  text: [{ format: { type: 'json_object' } }, { format: { type: 'json_schema', name: 'a', schema: {} } }],
  stream_options: [{ include_usage: true }],
  logit_bias: [{ 65: -100 }, { 319: 100 }, { 320: 1 }],
  chat_template_kwargs: [{ messages: 1 }, { tools: 'a', bos_token: [] }],
}

const SOUND: Record<string, Record<string, unknown>> = {
  '/v1/completions': { prompt: 'a', max_tokens: 2 },
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'a' }], max_tokens: 2 },
  '/v1/responses': { input: 'a', max_output_tokens: 2 },
  '/v1/load_lora_adapter': { lora_name: 'x', lora_path: '/nowhere' },
  '/v1/unload_lora_adapter': { lora_name: 'x' },
  '/tokenize': { prompt: 'a' },
  '/detokenize': { tokens: [65] },
}

type Attempt = { line: string; headers: string[]; body: Buffer }
const json = 'Content-Type: application/json'

const targetAttempts = (): Attempt[] =>
  [...TARGETS, ...PATHS.flatMap(path => ENDS.map(end => path + end))].flatMap(target =>
    ['GET', 'POST'].map(method => ({
      line: `${method} ${target}`,
      headers: [json],
      body: Buffer.from('{}'),
    })),
  )
const methodAttempts = (): Attempt[] =>
  METHODS.flatMap(method =>
    PATHS.map(path => ({ line: `${method} ${path}`, headers: [json], body: Buffer.from('{}') })),
  )

function headerAttempts(): Attempt[] {
  const headers = [
    ['Content-Type: application/json; charset=utf-16'],
    ['Content-Type: application/json', 'Content-Type: text/plain'],
    ['Content-Type: é'],
    ['Content-Encoding: gzip', json],
    ['Expect: 100-continue', json],
    ['Expect: something', json],
    ['Authorization: Bearer'],
    ['Authorization: Bearer é'],
    [`Authorization: Bearer ${'a'.repeat(8000)}`],
    ['Origin: %'],
    ['Origin: http://[', json],
    [`X-Long: ${'a'.repeat(30_000)}`],
    ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'],
    ['Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABk'],
    ['Range: bytes=0-1'],
    ['Transfer-Encoding: gzip, chunked', json],
    ['Cookie: a=b; %'],
    ['X-Forwarded-For: \u0001'],
  ]
  return PATHS.flatMap(path =>
    headers.map(given => ({ line: `POST ${path}`, headers: given, body: Buffer.from('{}') })),
  )
}

function bodyAttempt(random: (below: number) => number): Attempt {
  const routes = Object.keys(SOUND)
  const path = routes[random(routes.length)] ?? ''
  const body = { ...SOUND[path] }
  const keys = Object.keys(PARAMETERS[path] ?? {})
  for (let i = random(4); i >= 0; i--) {
    const key = random(3) === 0 ? '__proto__' : (keys[random(keys.length)] ?? '')
    const odd = random(4) === 0 ? VALUES : (LIKELY_OF[key] ?? LIKELY)
    if (key === '__proto__' && random(8) > 0) continue
    Object.defineProperty(body, key, {
      value: odd[random(odd.length)],
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  const bytes = Buffer.from(JSON.stringify(body))
  // One in eight is damaged as bytes: cut, changed or doubled.
  const at = random(bytes.length)
  const kind = random(24)
  if (kind === 0) return { line: `POST ${path}`, headers: [json], body: bytes.subarray(0, at) }
  if (kind === 1) bytes[at] = random(256)
  if (kind === 2) return { line: `POST ${path}`, headers: [json], body: Buffer.concat([bytes, bytes]) }
  return { line: `POST ${path}`, headers: [json], body: bytes }
}

const bytesOf = ({ line, headers, body }: Attempt): Buffer =>
  Buffer.concat([
    Buffer.from(
      [
        `${line} HTTP/1.1`,
        'Host: localhost',
        'Connection: close',
        `Content-Length: ${body.length}`,
        ...headers,
        '',
        '',
      ].join('\r\n'),
    ),
    body,
  ])

async function tryAll(part: string, all: readonly Attempt[]): Promise<void> {
  const wrong: string[] = []
  const statuses = new Map<number, number>()
  const queue = [...all]
  const work = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { status } = await send(bytesOf(next))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      // Node itself answers 501 to an unknown encoding of the body.
      if (status === 500 || status > 501 || status === 0)
        wrong.push(`${status} for ${next.line} ${next.headers.join(' | ')} ${next.body.toString()}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  tally(part, all.length, wrong.length)
  console.log(
    `${part}: ${[...statuses]
      .toSorted()
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ')}`,
  )
  expect(wrong.slice(0, 5), `seed ${seed}\n${lines.slice(0, 5).join('\n')}`).toEqual([])
}

test('malformed paths and targets get a status below 500', async () => {
  await tryAll('malformed paths', targetAttempts())
})
test('every method on every route gets a status below 500', async () => {
  await tryAll('methods', methodAttempts())
})
test('odd headers get a status below 500', async () => {
  await tryAll('odd headers', headerAttempts())
})
/** Promise T6.9: Malformed paths, methods, headers and bodies get a status below 500. */
test('odd values of every key get a status below 500', async () => {
  const random = createRandom(seed)
  await tryAll(
    'odd bodies',
    Array.from({ length: attempts(600, 10_000) }, () => bodyAttempt(random)),
  )
  expect(lines.filter(line => line.includes('Error')).slice(0, 3), `seed ${seed}`).toEqual([])
})
test('the server still answers as before', async () => {
  const { status } = await server.post('/v1/completions', { prompt: 'a', max_tokens: 1 })
  expect(status).toBe(200)
})
