/**
 * Attacks added after the known ones were fixed: other methods, odd paths, foreign keys and ids, prototype
 * pollution, files that pose as pages. Each title states the promised behaviour.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { createActionItem } from '@cairn/sessions'
import { afterAll, expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { type Answer, type CallInit, startService } from '../service.ts'

const service = await startService()
afterAll(() => service[Symbol.asyncDispose]())
const { call, adminToken } = service
const stranger = await service.addUser()
const mine = await service.newSession()
await service.say(mine, 'hello')
const workspace = join(service.dir, 'workspaces', mine)
await mkdir(workspace, { recursive: true })

const post = (path: string, body: unknown, init: CallInit = {}): Promise<Answer> =>
  call(path, { method: 'POST', body, ...init })

/** The response to bytes that no client of ours would send. */
const raw = (bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = createConnection(service.port, '127.0.0.1')
    let text = ''
    socket.on('data', chunk => (text += String(chunk)))
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
    socket.end(bytes)
  })
const bearer = `Authorization: Bearer ${adminToken}\r\n`
const ask = (line: string, headers = ''): Promise<string> =>
  raw(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`)

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const [, claims = '', signature = ''] = adminToken.split('.')
const header = (change: object): string => {
  const [own = ''] = adminToken.split('.')
  return encode({ ...(JSON.parse(Buffer.from(own, 'base64url').toString()) as object), ...change })
}
const withToken = async (token: string): Promise<number> => (await call('/v1/auth/me', { token })).status

/** Each attempt resolves if the server behaves as its title states. */
const ATTEMPTS: Record<string, () => Promise<void>> = {
  'TRACE does not echo credentials': async () => {
    const text = await ask('TRACE /v1/about', bearer)
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(text).not.toContain(adminToken)
  },
  'CONNECT opens no tunnel': async () => {
    expect(await ask('CONNECT 127.0.0.1:22')).not.toMatch(/^HTTP\/1\.1 2/)
  },
  'an upgrade to a WebSocket is not accepted': async () => {
    const text = await ask(
      'GET /healthz',
      'Upgrade: websocket\r\nSec-WebSocket-Key: dGVzdHRlc3R0ZXN0dGVzdA==\r\nSec-WebSocket-Version: 13\r\n',
    )
    expect(text).not.toContain(' 101 ')
  },
  'an upgrade to HTTP/2 is not accepted': async () => {
    expect(await ask('GET /healthz', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n')).not.toContain(' 101 ')
  },
  'an absolute target of another host is treated as its path': async () => {
    const text = await ask('GET http://elsewhere.test/v1/admin/users')
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /)
  },
  'odd spellings of an administrator’s path do not bypass the login': async () => {
    const paths = [
      '//v1/admin/users',
      '/v1//admin/users',
      '/v1/./admin/users',
      '/v1/x/../admin/users',
      '/v1/admin%2fusers',
      '/v1/%61dmin/users',
      '/V1/admin/users',
      '/v1/admin/users/',
      '/v1/admin/users;a=b',
      '/v1/api/../admin/users',
      '/v1/admin/users%00',
      '/v1/admin/users?x=/docs',
    ]
    for (const path of paths) {
      const text = await ask(`GET ${path}`)
      expect(text, path).not.toContain('"email"')
      const asStranger = await ask(`GET ${path}`, `Authorization: Bearer ${stranger.token}\r\n`)
      expect(asStranger, path).not.toContain('"email"')
    }
  },
  'a token is accepted only in the header': async () => {
    for (const name of ['access_token', 'token', 'authorization', 'jwt'])
      expect((await call(`/v1/auth/me?${name}=${adminToken}`, { token: null })).status).toBe(401)
  },
  'a critical header parameter is not ignored': async () => {
    expect(await withToken(`${header({ crit: ['exp'] })}.${claims}.${signature}`)).toBe(401)
    expect(await withToken(`${header({ b64: false, crit: ['b64'] })}.${claims}.${signature}`)).toBe(401)
    expect(await withToken(`${header({ typ: 'none' })}.${claims}.${signature}`)).toBe(401)
  },
  'a signature with other trailing bits or padding is rejected': async () => {
    expect(await withToken(`${adminToken}=`)).toBe(401)
    expect(await withToken(`${adminToken}.${claims}`)).toBe(401)
    expect(await withToken(adminToken.replaceAll('.', '..'))).toBe(401)
  },
  'a request with two credentials is not authenticated': async () => {
    const text = await ask(
      'GET /v1/auth/me',
      `Authorization: Bearer ${stranger.token}\r\nAuthorization: Bearer ${adminToken}\r\n`,
    )
    expect(text).not.toContain('admin@example.org')
  },
  'another user’s Idempotency-Key returns nothing of theirs': async () => {
    const headers = { 'idempotency-key': 'the-same-key' }
    const first = await post('/v1/sessions', {}, { headers })
    const second = await post('/v1/sessions', {}, { headers, token: stranger.token })
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.json.id).not.toBe(first.json.id)
  },
  'a body that names __proto__ changes no prototype': async () => {
    await call('/v1/sessions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      raw: '{"config":{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}}',
    })
    await call(`/v1/sessions/${mine}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      raw: '{"content":"x","metadata":{"__proto__":{"polluted":1}}}',
    })
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect((await call('/v1/admin/users', { token: stranger.token })).status).toBe(403)
  },
  'an invalid number, a duplicate key and half a surrogate pair cause no 500': async () => {
    const bodies = [
      '{"content":1e400}',
      '{"content":"a","content":"b"}',
      String.raw`{"content":"\ud800"}`,
      String.raw`{"\ud800":1,"content":"x"}`,
      '{"content":"x"}{"content":"y"}',
      '\ufeff{"content":"x"}',
      '{"content":"x",}',
      '[]',
      '"x"',
      'null',
    ]
    for (const body of bodies) {
      const answer = await call(`/v1/sessions/${mine}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        raw: body,
      })
      expect(answer.status, body).toBeLessThan(500)
    }
  },
  'a compressed body is rejected and not decompressed': async () => {
    const answer = await call(`/v1/sessions/${mine}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      raw: new Uint8Array([31, 139, 8, 0, 0, 0, 0, 0]),
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
  },
  'an answer to a question of another session finds no question': async () => {
    const own = await service.newSession(stranger.token)
    const answer = await post(
      `/v1/sessions/${own}/questions/call_of_another/respond`,
      { responses: [{ question: 'q', answer: 'a' }] },
      { token: stranger.token },
    )
    expect(answer.status).toBe(404)
  },
  'a rating accepts only an answer of its own session, whatever the number': async () => {
    for (const id of ['0', '-1', '1', '9007199254740993', '1e3', '0x1', '1%00'])
      expect(
        (await post(`/v1/sessions/${mine}/events/${id}/feedback`, { rating: 'up' })).status,
        id,
      ).toBeGreaterThanOrEqual(400)
  },
  'one of many concurrent decisions counts, and the others return 409': async () => {
    const { event, item_id } = createActionItem(
      { newId: randomUUID },
      { title: 't', instructions: 'i', context: 'c', action_type: 'other', target: null, reason: 'r' },
    )
    const id = await service.newSession()
    await service.say(id, 'wait')
    await service.store.commit({ session_id: id, events: [event] })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(`/v1/inbox/${item_id}/respond`, { completed: true })),
    )
    const statuses = answers.map(answer => answer.status).toSorted()
    expect(statuses).toEqual([200, ...Array<number>(19).fill(409)])
  },
  'an HTML page and an SVG drawing of the workspace are served as data': async () => {
    await writeFile(join(workspace, 'page.html'), '<script>alert(1)</script>')
    await writeFile(
      join(workspace, 'drawing.svg'),
      '<svg onload="alert(1)" xmlns="http://www.w3.org/2000/svg"/>',
    )
    for (const name of ['page.html', 'drawing.svg']) {
      const { headers, status } = await call(`/v1/sessions/${mine}/workspace/file?path=${name}`)
      expect(status).toBe(200)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-type')).not.toMatch(/html|svg|javascript/)
    }
  },
  'a file name cannot add a header': async () => {
    await writeFile(join(workspace, 'a\r\nSet-Cookie: x=1'), 'x')
    const { headers } = await call(
      `/v1/sessions/${mine}/workspace/file?path=${encodeURIComponent('a\r\nSet-Cookie: x=1')}`,
    )
    expect(headers.get('set-cookie')).toBeNull()
    expect((await call(`/v1/sessions/${mine}/workspace/tree`)).status).toBe(200)
  },
  'a range of a file returns no bytes beyond it': async () => {
    const { status, text } = await call(`/v1/sessions/${mine}/workspace/file?path=page.html`, {
      headers: { range: 'bytes=0-99999999,-1,5-2' },
    })
    expect([200, 206, 416]).toContain(status)
    expect(text.length).toBeLessThan(200)
  },
  'a duplicate cursor and odd cursors end in a page or a 400': async () => {
    for (const query of ['after=1&after=2', 'after=', 'after=%2b1', 'after=１']) {
      const { status } = await call(`/v1/sessions/${mine}/events/poll?${query}`)
      expect([200, 400], query).toContain(status)
    }
  },
  'the public pages contain no session, user or secret': async () => {
    for (const path of ['/openapi.json', '/docs', '/metrics', '/healthz', '/readyz']) {
      const { text } = await call(path, { token: null })
      for (const secret of [mine, 'admin@example.org', adminToken, service.admin.id, service.dir])
        expect(text.includes(secret), `${path}: ${secret}`).toBe(false)
    }
  },
  'a title is returned as text, whatever it contains': async () => {
    const title = '<img src=x onerror=alert(1)> \u202Egnp.exe'
    const { status, json, headers } = await call(`/v1/sessions/${mine}`, {
      method: 'PATCH',
      body: { title },
    })
    expect(status).toBe(200)
    expect(json.title).toBe(title)
    expect(headers.get('content-type')).toContain('application/json')
  },
  'a visually identical email address is a different one': async () => {
    const spelled = 'admin@example.org'.replace('a', '\u0430')
    const answer = await post('/v1/auth/login', { email: spelled, password: 'x' }, { token: null })
    expect(answer.status).toBe(401)
  },
  'a method that a route does not support is rejected': async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'PROPFIND', 'COPY'])
      expect((await call('/v1/auth/login', { method })).status, method).toBeGreaterThanOrEqual(400)
    expect((await call(`/v1/sessions/${mine}`)).status).toBe(200)
  },
  'a hundred and one headers, and one of 20 KB, are rejected or ignored': async () => {
    const many = Array.from({ length: 101 }, (_, at) => `X-${at}: 1\r\n`).join('')
    expect(await ask('GET /healthz', many)).toMatch(/^HTTP\/1\.1 [24]/)
    expect(await ask('GET /healthz', `X-Long: ${'a'.repeat(20_000)}\r\n`)).toMatch(/^HTTP\/1\.1 (200|431) /)
  },
}

test.each(Object.entries(ATTEMPTS))('%s', async (name, attempt) => {
  let outcome: unknown = null
  await attempt().catch((error: unknown) => {
    outcome = error
  })
  tally(`new: ${name}`, 1, outcome === null ? 0 : 1)
  if (outcome !== null) throw outcome
})

test('after all attempts the server answers as before', async () => {
  expect((await call('/healthz')).status).toBe(200)
  expect((await call(`/v1/sessions/${mine}`)).json.id).toBe(mine)
})
