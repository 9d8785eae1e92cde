/** Bad input is rejected with a message that names the problem. Nothing is lost and the server stays up. */
import { writeFileSync } from 'node:fs'
import { freePort } from '@cairn/log/test/free-port'
import { expect, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { type ServerDirs, cairn, makePlace, refusedStart, startServer, startService } from './server.ts'
import { isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

const SCENARIO = { rules: [{ answer: { text: 'Fine.' } }] }

type Problem = { status: number; code: string; detail: string; errors?: { path: string }[] }
async function post(
  place: ServerDirs,
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Problem> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await localToken(place.dataDir)}`,
      ...headers,
    },
  })
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  return (await response.json()) as Problem
}

test('rejects invalid requests with an error that names the problem and leaves the session unchanged', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const server = await startServer(place)
  const { client, url } = server
  // With a title: otherwise the title model would write to the log after the turn.
  const { id } = await client.call('createSession', { body: { title: 'Titled' } })
  await runTurn(client, id, 'first')
  const before = await readLog(client, id)
  const messages = `${url}/v1/sessions/${id}/messages`

  expect(await post(place, messages, JSON.stringify({ content: 'x'.repeat(2 << 20) }))).toMatchObject({
    status: 413,
    code: 'body_too_large',
  })
  expect(await post(place, messages, '{"content": "half')).toMatchObject({ status: 400, code: 'bad_request' })
  expect(await post(place, messages, JSON.stringify({ text: 'hi' }))).toMatchObject({
    status: 422,
    code: 'invalid_body',
    errors: expect.arrayContaining([expect.objectContaining({ path: 'content' })]) as unknown,
  })
  expect(await post(place, messages, JSON.stringify({ content: '' }))).toMatchObject({
    status: 422,
    code: 'invalid_body',
  })
  expect(await post(place, messages, 'hi', { 'content-type': 'text/plain' })).toMatchObject({
    status: 415,
    code: 'unsupported_media_type',
  })
  expect(await post(place, `${url}/v1/sessions`, JSON.stringify({ agent: 'nobody' }))).toMatchObject({
    status: 422,
    code: 'unknown_agent',
    detail: expect.stringContaining('nobody') as unknown,
  })
  expect(
    await post(place, `${url}/v1/sessions/nothing/messages`, JSON.stringify({ content: 'hi' })),
  ).toMatchObject({ status: 404, code: 'not_found' })
  for (const after of ['-1', 'soon', '1.5', '9'.repeat(30)]) {
    const response = await fetch(`${url}/v1/sessions/${id}/events?after=${after}`, {
      headers: { authorization: `Bearer ${await localToken(place.dataDir)}` },
    })
    expect([after, response.status, ((await response.json()) as Problem).code]).toEqual([
      after,
      400,
      'invalid_cursor',
    ])
  }
  const stranger = await fetch(`${url}/v1/sessions/${id}`)
  expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining('Bearer'),
  ])

  expect(await readLog(client, id)).toEqual(before)
  await runTurn(client, id, 'second')
  expect(server.exited()).toBe(false)
})

test('an unreachable model fails the session as retryable, and the server stays up', async () => {
  // Nothing listens on this port.
  const port = await freePort()
  const place = makePlace({
    config: {
      models: {
        default: 'gone/model',
        providers: { gone: { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1` } },
      },
      limits: { llm_retries: 1 },
    },
  })
  const server = await startService(place)
  const { client } = server
  expect(server.demo).toBe(false)
  const id = await newSession(client)
  const after = await say(client, id, 'hello')
  const failure = await waitFor(client, id, after, isType('session.fail'))
  expect(failure.data).toMatchObject({ error_category: 'network', retryable: true })
  expect((await client.call('getSession', { params: { id } })).status).toBe('failed')
  expect((await client.call('retrySession', { params: { id } })).status).toBe('active')
  await waitFor(client, id, failure.id, isType('session.fail'))
})

test('an invalid configuration fails the start with one message and exit code 4', async () => {
  const place = makePlace()
  for (const [text, message] of [
    ['modles: {}', 'unknown key "modles" (did you mean "models"?)'],
    ['limits: {drain_s: soon}', 'line 1: limits.drain_s: expected number, got "soon"'],
    ['agents: [', 'invalid YAML'],
    [
      'models: {default: openai/gpt, providers: {openai: {kind: openai, api_key_env: NO_SUCH_KEY}}}',
      'the environment variable NO_SUCH_KEY is not set',
    ],
  ] as const) {
    writeFileSync(place.env['CAIRN_CONFIG']!, text)
    const { code, stdout, stderr } = await refusedStart(place)
    expect([code, stdout]).toEqual([4, ''])
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('    at ')
  }
})

test.each([
  ['CAIRN_CONFIG', '/nowhere/cairn.yaml', 4, 'the file that CAIRN_CONFIG names does not exist'],
  ['DATABASE_URL', 'mysql://localhost/cairn', 4, 'expected a URL that starts with postgres://, got mysql://'],
  ['DATABASE_URL', 'postgres://127.0.0.1/cairn?schema=Mine', 4, 'got "Mine"'],
  ['PORT', 'many', 4, 'expected a port number'],
  ['LOG_LEVEL', 'loud', 4, 'expected one of debug, info'],
])('%s=%s fails the start with exit code %i and the reason', async (name, value, expected, message) => {
  const { code, stderr } = await refusedStart(makePlace({ scenario: SCENARIO }), { [name]: value })
  expect(code).toBe(expected)
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('    at ')
})

test.each([
  [
    'DATABASE_URL',
    'postgres://cairn:secret@127.0.0.1:1/cairn',
    3,
    'postgres://cairn:***@127.0.0.1:1/cairn?schema=cairn cannot be used',
  ],
  ['HOST', '203.0.113.7', 5, 'This machine has no address 203.0.113.7'],
  ['PORT', 'many', 4, 'expected a port number'],
])('a process with %s=%s exits with code %i and the reason', async (name, value, expected, message) => {
  const { code, stderr } = await cairn(makePlace({ scenario: SCENARIO }), ['serve'], {
    env: { [name]: value },
  })
  expect(code).toBe(expected)
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('    at ')
})

test('a port or data directory in use fails the start with exit code 5 and an error that names it', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const server = await startServer(place)
  const same = await cairn(place, ['serve'])
  expect([same.code, same.stderr]).toEqual([
    5,
    expect.stringContaining(`${place.dataDir} is in use by process`),
  ])
  const { port } = new URL(server.url)
  const other = await cairn(makePlace({ scenario: SCENARIO }), ['serve'], { env: { PORT: port } })
  expect([other.code, other.stderr]).toEqual([
    5,
    expect.stringContaining(`Port ${port} of 127.0.0.1 is in use`),
  ])
  expect(server.exited()).toBe(false)
})
