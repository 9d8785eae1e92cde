/** Contract 4.3: every rejection is a documented problem document. */
import { connect } from 'node:net'
import { once } from 'node:events'
import { AppError, ERRORS, Problem } from '@cairn/protocol'
import { afterAll, expect, test } from 'vitest'
import { startService, type CallInit, type Service } from './service.ts'

/** For tests that leave no state behind. */
const shared = await startService()
afterAll(() => shared[Symbol.asyncDispose]())

const json = { 'content-type': 'application/json' }
const post = (service: Service, raw: string | Uint8Array, headers: Record<string, string> = json) =>
  service.call('/v1/sessions', { method: 'POST', raw, headers })

test.each<[string, CallInit, number, string]>([
  ['/v1/nothing', {}, 404, 'not_found'],
  ['/v1/sessions//', {}, 404, 'not_found'],
  ['/V1/sessions', {}, 404, 'not_found'],
  ['/v1/sessions/x/events/y/feedback', { method: 'POST', body: { rating: 'up' } }, 404, 'not_found'],
  ['/v1', {}, 404, 'not_found'],
  ['/v1/sessions/%E0%A4%A/events', {}, 400, 'bad_request'],
  ['/v1/sessions', { method: 'DELETE' }, 405, 'method_not_allowed'],
  ['/v1/sessions', { token: null }, 401, 'unauthenticated'],
  ['/v1/sessions', { token: null, headers: { authorization: 'Basic eDp5' } }, 401, 'unauthenticated'],
  ['/v1/sessions?limit=x', {}, 400, 'bad_request'],
  ['/v1/sessions?cursor=%20', {}, 400, 'invalid_cursor'],
  ['/v1/sessions?status=asleep', {}, 400, 'bad_request'],
  ['/v1/sessions', { method: 'POST', raw: '{}' }, 415, 'unsupported_media_type'],
  [
    '/v1/sessions',
    { method: 'POST', raw: '{}', headers: { 'content-type': 'text/json' } },
    415,
    'unsupported_media_type',
  ],
  ['/v1/auth/login', { method: 'POST', raw: '', headers: json }, 400, 'bad_request'],
  ['/v1/sessions', { method: 'POST', body: { agent: 'nobody' } }, 422, 'unknown_agent'],
  ['/v1/sessions', { method: 'POST', body: { config: { temperature: 9 } } }, 422, 'invalid_body'],
  ['/v1/sessions', { method: 'POST', body: { config: { budget: { max_tokens: -1 } } } }, 422, 'invalid_body'],
  [
    // Its model has no price.
    '/v1/sessions',
    { method: 'POST', body: { config: { budget: { max_cost_usd: 1 } } } },
    422,
    'invalid_body',
  ],
  ['/v1/sessions', { method: 'POST', body: [] }, 422, 'invalid_body'],
])('%s %o is rejected with %i %s', async (path, init, status, code) => {
  const answer = await shared.call(path, init)
  expect([answer.status, answer.json.code]).toEqual([status, code])
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(Problem.safeParse(answer.json).success).toBe(true)
  expect(answer.json.title).toBe(ERRORS[code as keyof typeof ERRORS].title)
  expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'))
  if (status === 405) expect(answer.headers.get('allow')).toBe('POST, GET, HEAD')
})

/** Promise 4.4: A blank message, goal or rubric is rejected. */
test.each([
  ['an empty text', ''],
  ['spaces and line ends', ' \n\t\u00a0\u3000'],
  ['characters without width', '\u200b\u2060\ufeff'],
])('a message, a goal or a rubric of %s is rejected and writes nothing', async (_, blank) => {
  const id = await shared.newSession()
  const goal = { type: 'user.define_outcome', description: 'd', rubric: { type: 'text', content: 'c' } }
  for (const [route, body, path] of [
    ['messages', { content: blank }, 'content'],
    ['events', { events: [{ ...goal, description: blank }] }, 'events.0.description'],
    [
      'events',
      { events: [{ ...goal, rubric: { type: 'text', content: blank } }] },
      'events.0.rubric.content',
    ],
  ] as const) {
    const { status, json: answer } = await shared.call(`/v1/sessions/${id}/${route}`, {
      method: 'POST',
      body,
    })
    expect([status, answer.code]).toEqual([422, 'invalid_body'])
    expect(answer.errors).toEqual([{ path, message: 'must not be blank' }])
  }
  expect(await shared.store.events.read(id, 0, 10)).toEqual([])
})

test('an invalid body returns the path of each error', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const { status, json } = await service.call(`/v1/sessions/${id}/events`, {
    method: 'POST',
    body: { events: [{ type: 'user.define_outcome', description: ' ', rubric: { type: 'text' } }] },
  })
  expect(status).toBe(422)
  expect(json.errors.map(({ path }: { path: string }) => path)).toEqual([
    'events.0.description',
    'events.0.rubric.content',
  ])
  const other = await service.call(`/v1/sessions/${id}/events`, {
    method: 'POST',
    body: { events: [{ type: 'tool.call', name: 'x' }] },
  })
  expect(other.status).toBe(422)
})

test.each([
  ['{"a": x}', 6],
  ['{"a":1,}', 7],
  ['[1 2]', 3],
  ['{"a" 1}', 5],
  [' ', 1],
  ['{"a":"\n"}', 5],
  ['{}x', 2],
  ['{"a":01}', 6],
  ["{'a':1}", 1],
  ['{"a":', 5],
  ['[', 1],
])('rejects %j as invalid JSON and names position %i', async (raw, position) => {
  const { status, json } = await post(shared, raw)
  expect([status, json.code]).toEqual([400, 'bad_request'])
  expect(json.detail).toContain(`at position ${position},`)
})

test('a body that is not UTF-8 or nests too deeply is rejected', async () => {
  await using service = await startService()
  expect((await post(service, new Uint8Array([0x22, 0xff, 0x22]))).json.detail).toContain('UTF-8')
  const deep = await post(service, `{"config":${'['.repeat(400_000)}${']'.repeat(400_000)}}`)
  expect([deep.status, deep.json.detail]).toEqual([
    400,
    'Invalid request body: nested deeper than 64 levels.',
  ])
  const brackets = await post(service, JSON.stringify({ title: '[{'.repeat(100) }))
  expect(brackets.status).toBe(201)
})

test('a plain request id is kept, and any other one is replaced', async () => {
  await using service = await startService()
  expect(
    (await service.call('/healthz', { headers: { 'x-request-id': 'abc-1.2_3' } })).headers.get(
      'x-request-id',
    ),
  ).toBe('abc-1.2_3')
  for (const given of ['<script>', 'a b', 'x'.repeat(65)]) {
    const made = (await service.call('/v1/nope', { headers: { 'x-request-id': given } })).headers.get(
      'x-request-id',
    )
    expect(made).toMatch(/^[0-9a-f-]{36}$/)
  }
})

test('an internal error reveals no details, and the logger gets them with the request id', async () => {
  await using service = await startService()
  service.store.sessions.list = async () => {
    throw new Error('secret path /var/x')
  }
  const { status, json, text } = await service.call('/v1/sessions')
  expect([status, json.code]).toEqual([500, 'internal'])
  expect(text).not.toMatch(/secret|stack|at .*:\d/)
  expect(service.logged).toMatchObject([
    {
      level: 'error',
      message: 'request failed',
      fields: { request_id: json.request_id, error: 'secret path /var/x' },
    },
  ])
})

test('a failed write returns 503 and states that a retry is safe', async () => {
  await using service = await startService()
  const id = await service.newSession()
  service.store.commit = async () => {
    throw new AppError('storage', 'disk I/O error at /dev/sda')
  }
  const { status, json } = await service.call(`/v1/sessions/${id}/messages`, {
    method: 'POST',
    body: { content: 'x' },
  })
  expect([status, json.code, json.detail]).toEqual([
    503,
    'storage',
    'The write was not stored: it is safe to retry.',
  ])
})

test('a message of two mebibytes is rejected before its body, and the connection stays usable', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const socket = connect(service.port, '127.0.0.1')
  const size = 2 * 1024 * 1024
  socket.write(
    `POST /v1/sessions/${id}/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ` +
      `${service.adminToken}\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n`,
  )
  // No byte of the body has been sent yet.
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /)
  expect(answer.toString()).toContain('"code":"body_too_large"')
  socket.write(Buffer.alloc(size, 0x20))
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  const [next] = (await once(socket, 'data')) as [Buffer]
  expect(next.toString()).toMatch(/^HTTP\/1\.1 200 /)
  socket.destroy()
})

test('a chunked body is measured while it arrives', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const socket = connect(service.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /v1/sessions/${id}/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ` +
      `${service.adminToken}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  const piece = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 0x20), Buffer.from('\r\n')])
  const answered = once(socket, 'data') as Promise<[Buffer]>
  for (let n = 0; n < 17; n++) socket.write(piece)
  expect((await answered)[0].toString()).toMatch(/^HTTP\/1\.1 413 /)
  // A client that continues without end is disconnected.
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  const pour = (): void => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', pour)
  pour()
  await closed
})

test('a body of exactly one mebibyte is accepted, also with Expect: 100-continue', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const body = JSON.stringify({ content: 'x'.repeat(1024 * 1024 - '{"content":""}'.length) })
  expect(
    (await service.call(`/v1/sessions/${id}/messages`, { method: 'POST', raw: body, headers: json })).status,
  ).toBe(202)
  const socket = connect(service.port, '127.0.0.1')
  const head = (length: number) =>
    `POST /v1/sessions/${id}/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ` +
    `${service.adminToken}\r\ncontent-type: application/json\r\nexpect: ` +
    `100-continue\r\ncontent-length: ${length}\r\n\r\n`
  socket.write(head(15))
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  socket.write('{"content":"x"}')
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toMatch(/^HTTP\/1\.1 202 /)
  socket.write(head(3_000_000))
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toMatch(
    /^HTTP\/1\.1 413 [^]*\r\nconnection: close\r\n/i,
  )
  await once(socket, 'close')
})

test('an invalid HTTP request gets a 400 and the connection ends', async () => {
  await using service = await startService()
  const socket = connect(service.port, '127.0.0.1')
  socket.end('HELO example.org\r\n\r\n')
  let text = ''
  for await (const piece of socket) text += String(piece)
  expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  expect(text).toContain('"code":"bad_request"')
})

test('requests beyond the rate limit are rejected until the bucket refills', async () => {
  await using service = await startService({ config: { limits: { requests_per_minute: 60 } } })
  const { token } = await service.addUser()
  const statuses: number[] = []
  for (let n = 0; n < 62; n++) statuses.push((await service.call('/v1/auth/me')).status)
  expect(statuses.filter(status => status === 200).length).toBeLessThanOrEqual(61)
  const refused = await service.call('/v1/auth/me')
  expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    '1',
  ])
  expect((await service.call('/v1/auth/me', { token })).status).toBe(200)
  service.advance(2_000)
  expect((await service.call('/v1/auth/me', { token: await service.mintAdmin() })).status).toBe(200)
})

/** Promise 4.3: A problem document lists at most twenty errors and counts the rest. */
test('a problem document lists at most twenty errors, counts the rest, and stays small', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const answer = (path: string, body: unknown) => service.call(path, { method: 'POST', body })
  const many = await answer(`/v1/sessions/${id}/events`, { events: Array.from({ length: 10 }, () => ({})) })
  expect(many).toMatchObject({ status: 422, json: { errors_omitted: 10 } })
  expect(many.json.errors).toHaveLength(20)
  const keys = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`key-${at}`, 1]))
  const long = { ['k'.repeat(500_000)]: 1 }
  for (const body of [keys, { config: keys }, long, { config: long }, { agent: 'a'.repeat(900_000) }]) {
    const { status, text } = await answer('/v1/sessions', body)
    expect(status).toBe(422)
    expect(text.length).toBeLessThan(16_384)
  }
})
