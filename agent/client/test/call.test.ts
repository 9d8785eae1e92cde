import { ERRORS } from '@cairn/protocol'
import { expect, expectTypeOf, test } from 'vitest'
import { ApiError, ConnectionError, createClient } from '../src/index.ts'
import { serve } from './hostile-server.ts'

const session = {
  id: 's1',
  agent: 'assistant',
  channel: 'web',
  status: 'active',
  state: 'idle',
  waiting_on: null,
  title: null,
  model: null,
  parent_id: null,
  root_id: 's1',
  depth: 0,
  open_children: 0,
  children_cost_usd: 0,
  last_event_id: 0,
  message_count: 0,
  tool_call_count: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  unpriced: false,
  created_by: 'u',
  created_at: '',
  updated_at: '',
}
const json =
  (status: number, body: unknown) =>
  (_: unknown, response: import('node:http').ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

test('a call takes path, query and body from its route, and encodes path parameters', async () => {
  const bodies: string[] = []
  await using server = await serve((_, response, body) => {
    bodies.push(body)
    response.writeHead(200).end(
      JSON.stringify({
        ...session,
        next_cursor: null,
        sessions: [],
        event_id: 4,
        session_id: 's1',
        taken_as: 'message',
      }),
    )
  })
  const { call } = createClient({ baseUrl: `${server.baseUrl}/`, token: 'jwt' })
  await call('sendMessage', { params: { id: 'a/b' }, body: { content: 'hi' }, idempotencyKey: 'k' })
  await call('listSessions', { query: { limit: 5, status: 'active,failed', cursor: undefined }, api: true })
  await call('listSessions')
  expect(server.requests.map(({ url }) => url.pathname + url.search)).toEqual([
    '/v1/sessions/a%2Fb/messages',
    '/v1/api/sessions?limit=5&status=active%2Cfailed',
    '/v1/sessions',
  ])
  expect(server.requests[0]?.authorization).toBe('Bearer jwt')
  expect(bodies[0]).toBe('{"content":"hi"}')
})

test('the types of a call match its route', () => {
  const { call } = createClient({ baseUrl: '' })
  expectTypeOf(call<'getSession'>).returns.resolves.toHaveProperty('last_event_id')
  // @ts-expect-error a stream cannot be called
  expect(() => call('streamEvents')).toBeTypeOf('function')
  // @ts-expect-error the body of sendMessage has content
  expect(() => call('sendMessage', { params: { id: 's' }, body: { text: 'hi' } })).toBeTypeOf('function')
  // @ts-expect-error the path has an id
  expect(() => call('getSession')).toBeTypeOf('function')
})

test('keeps unknown keys of an answer, and rejects an answer without a required key by name', async () => {
  await using newer = await serve(json(200, { ...session, mood: 'sunny' }))
  expect(
    await createClient({ baseUrl: newer.baseUrl }).call('getSession', { params: { id: 's1' } }),
  ).toMatchObject({ mood: 'sunny' })
  await using broken = await serve(json(200, { ...session, last_event_id: undefined }))
  await expect(
    createClient({ baseUrl: broken.baseUrl }).call('getSession', { params: { id: 's1' } }),
  ).rejects.toThrow('[getSession] unexpected response of the server: last_event_id')
})

test('an error has the problem, its extra members and Retry-After', async () => {
  await using server = await serve((_, response) => {
    response.writeHead(409, { 'content-type': 'application/problem+json', 'retry-after': '3' }).end(
      JSON.stringify({
        type: 'about:blank',
        title: 'Already answered',
        status: 409,
        code: 'already_answered',
        detail: 'rejected before',
        request_id: 'r',
        decision: 'reject',
      }),
    )
  })
  const failure = (await createClient({ baseUrl: server.baseUrl })
    .call('getInboxItem', { params: { item_id: 'i' } })
    .catch((error: unknown) => error)) as ApiError
  expect(failure).toBeInstanceOf(ApiError)
  expect([
    failure.status,
    failure.code,
    failure.retryable,
    failure.retryAfterMs,
    failure.problem['decision'],
  ]).toEqual([409, 'already_answered', false, 3000, 'reject'])
})

test('converts a proxy error page into an ApiError', async () => {
  await using server = await serve(
    (_, response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway'),
  )
  const failure = (await createClient({ baseUrl: server.baseUrl })
    .call('me')
    .catch((error: unknown) => error)) as ApiError
  expect([failure.status, failure.retryable, failure.problem.detail]).toEqual([502, true, '<h1>Bad gateway'])
})

test('reports an unreachable server with its address and the reason', async () => {
  const server = await serve(() => {})
  await server[Symbol.asyncDispose]()
  const failure = (await createClient({ baseUrl: server.baseUrl })
    .call('me')
    .catch((error: unknown) => error)) as ConnectionError
  expect(failure).toBeInstanceOf(ConnectionError)
  expect(failure.message).toContain(`${server.baseUrl}/v1/auth/me did not respond: connect ECONNREFUSED`)
})

test('concurrent rejected calls share one renewal of the cookie', async () => {
  let fresh = false
  let renewals = 0
  await using server = await serve((request, response) =>
    (fresh ? json(200, session) : json(401, {}))(request, response),
  )
  const { call } = createClient({
    baseUrl: server.baseUrl,
    refresh: () =>
      new Promise<void>(resolve => {
        renewals++
        setImmediate(() => {
          fresh = true
          resolve()
        })
      }),
  })
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => call('getSession', { params: { id: 's1' } })),
  )
  expect(answers.map(({ id }) => id)).toEqual(['s1', 's1', 's1', 's1', 's1'])
  expect(renewals).toBe(1)
})

test('rejects if the token is rejected again after its renewal', async () => {
  await using server = await serve(
    json(401, {
      type: 'about:blank',
      title: 'No',
      status: 401,
      code: 'unauthenticated',
      detail: 'who?',
      request_id: 'r',
    }),
  )
  await expect(
    createClient({ baseUrl: server.baseUrl, token: () => Promise.resolve('t') }).call('me'),
  ).rejects.toThrow('No: who?')
  expect(server.requests).toHaveLength(2)
})

test('a service-account token calls /v1/api routes, and a user-only route fails with the reason', async () => {
  await using server = await serve(json(200, session))
  const { call } = createClient({ baseUrl: server.baseUrl, token: 'cairn_sk_secret' })
  await call('getSession', { params: { id: 's1' } })
  expect(server.requests[0]?.url.pathname).toBe('/v1/api/sessions/s1')
  await expect(call('pollEvents', { params: { id: 's1' }, api: true })).rejects.toThrow(
    '[pollEvents] is not available below /v1/api: it accepts user tokens only',
  )
})

test('states an error once: the title is left out if the detail contains it', () => {
  const messageOf = (title: string, detail: string): string =>
    new ApiError({ type: 'about:blank', title, status: 404, code: 'x', detail, request_id: '' }).message
  expect(messageOf('Not found', 'Session x not found.')).toBe('Session x not found.')
  expect(messageOf('Conflict', 'The session is running.')).toBe('Conflict: The session is running.')
})

test('classifies every retryable error of the table as retryable without the table', () => {
  for (const [code, { status, title, retryable }] of Object.entries(ERRORS)) {
    if (!retryable) continue
    const error = new ApiError({ type: 'about:blank', title, status, code, detail: '', request_id: '' })
    expect(error.retryable, code).toBe(true)
  }
})
