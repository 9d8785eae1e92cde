/** Contract 3: how a stream starts, stays alive and ends. */
import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createLoginLink } from '../src/index.ts'
import { startService } from './service.ts'
import { openStream } from './stream.ts'

test('a stream starts with retry and a comment, and its headers forbid buffering and transforming it', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.say(id, 'a\nb\r\nc')
  const stream = await openStream(service, `/v1/sessions/${id}/events`)
  await stream.until(({ ids }) => ids().length === 1)
  const [record] = (await service.store.events.read(id, 0, 1)).map(({ json }) => json)
  expect(stream.text()).toBe(`retry: 2000\n: connected\nid: 1\nevent: user.message\ndata: ${record}\n\n`)
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  stream.close()
})

/** Promise 3.5: Every block of a stream has data, so no client delivers an empty event. */
test('every block of a stream contains data, so that no client emits an empty event', async () => {
  await using service = await startService({ tuning: { heartbeatMs: 60, tickMs: 20 } })
  const id = await service.newSession()
  for (const path of [`/v1/sessions/${id}/events`, '/v1/inbox/stream']) {
    const stream = await openStream(service, path)
    const beats = (): number => stream.text().split(': keep-alive\n').length - 1
    await stream.until(() => beats() > 1)
    await service.say(id, 'after a pause')
    await stream.until(({ text }) => text().includes('data: ') || path.includes('inbox'))
    const before = beats()
    await stream.until(() => beats() > before + 1)
    const drained = stream.text()
    const blocks = drained.split('\n\n').slice(0, -1)
    expect(blocks.length, drained).toBeGreaterThan(0)
    for (const block of blocks) expect(block).toMatch(/^data: ./m)
    stream.close()
  }
})

test('a comment is sent after each interval without output', async () => {
  await using service = await startService({ tuning: { heartbeatMs: 60, tickMs: 20 } })
  const id = await service.newSession()
  const stream = await openStream(service, `/v1/sessions/${id}/events`)
  const comments = (): number => stream.text().split(': keep-alive\n').length - 1
  await expect.poll(comments, { message: 'comments while nothing happens' }).toBeGreaterThan(2)
  await service.say(id, 'still here')
  await expect.poll(stream.ids, { message: 'the event behind them' }).toEqual([1])
  stream.close()
})

/** Promise 3.5: A draining server ends its streams cleanly. */
test('draining ends every stream with a comment and a complete body, and rejects new ones', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const streams = await Promise.all(
    [`/v1/sessions/${id}/events`, `/v1/api/sessions/${id}/events`, '/v1/inbox/stream'].map(path =>
      openStream(service, path),
    ),
  )
  for (const stream of streams) await stream.until(({ text }) => text().includes(': connected'))
  const kept = connect(service.port, '127.0.0.1')
  await once(kept, 'connect')
  const ended = once(kept.resume(), 'end')
  const drained = service.api.drain()
  for (const stream of streams) {
    expect((await stream.ended).clean).toBe(true)
    expect(stream.text().endsWith(': draining\n')).toBe(true)
  }
  // An idle connection ends, and a new one is refused.
  await ended
  await drained
  await expect(once(connect(service.port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED')
})

/** Promise 4.4: One principal cannot occupy all streams. */
test('a principal has a maximum number of streams, and closing one allows another', async () => {
  await using service = await startService({ config: { limits: { streams_per_principal: 3 } } })
  const machine = await service.addServiceAccount()
  const id = await service.newSession(machine.token, '/v1/api/sessions')
  const path = `/v1/api/sessions/${id}/events`
  const open = (token: string, at = path) => openStream(service, at, { token })
  const mine = [
    await open(machine.token),
    await open(machine.token),
    await open(machine.token, '/v1/api/inbox/stream'),
  ]
  const refused = await service.call(path, { token: machine.token })
  expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'too_many_streams',
    '5',
  ])
  expect(refused.json.detail).toContain('limits.streams_per_principal')
  // Other principals have their own limit.
  const other = await open(service.adminToken)
  expect(other.status).toBe(200)
  mine[0]?.close()
  await expect
    .poll(async () => {
      const stream = await open(machine.token)
      stream.close()
      return stream.status
    })
    .toBe(200)
  for (const stream of [...mine, other]) stream.close()
})

test('an HTTP/1.0 client gets the stream without chunks', async () => {
  await using service = await startService()
  const id = await service.newSession()
  await service.say(id, 'old')
  const socket = connect(service.port, '127.0.0.1')
  socket.write(
    `GET /v1/sessions/${id}/events HTTP/1.0\r\nauthorization: Bearer ${service.adminToken}\r\n\r\n`,
  )
  let text = ''
  for await (const piece of socket) {
    text += String(piece)
    if (text.includes('id: 1\n')) break
  }
  const [head, ...body] = text.split('\r\n\r\n')
  expect(head).not.toMatch(/transfer-encoding/i)
  expect(body.join('')).toMatch(/^retry: 2000\n: connected\nid: 1\nevent: user\.message\ndata: \{/)
})

test('HEAD returns the headers of GET without the stream, and CORS preflight requests are rejected', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const head = await service.call(`/v1/sessions/${id}/events`, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-type'), head.text]).toEqual([200, 'text/event-stream', ''])
  expect((await service.call('/v1/sessions/none/events', { method: 'HEAD' })).status).toBe(404)
  for (const method of ['OPTIONS', 'PUT']) {
    const { status, headers } = await service.call(`/v1/sessions/${id}/events`, {
      method,
      headers: { origin: 'https://elsewhere.example' },
    })
    expect([method, status, headers.get('allow')]).toEqual([method, 405, 'GET, HEAD, POST'])
    expect(headers.get('access-control-allow-origin')).toBeNull()
  }
})

test('a stream outlives its access token, and ends when its login is revoked', async () => {
  await using service = await startService()
  const { user } = await service.addUser('carol@example.org')
  const { json: tokens } = await service.call('/v1/auth/login', {
    method: 'POST',
    token: null,
    body: { link_token: await createLoginLink(service.store, user.id, service.now()) },
  })
  const id = await service.newSession(tokens.access_token)
  const stream = await openStream(service, `/v1/sessions/${id}/events`, { token: tokens.access_token })
  await stream.until(({ text }) => text().includes(': connected'))
  const fresh = await service.call('/v1/auth/refresh', {
    method: 'POST',
    token: null,
    body: { refresh_token: tokens.refresh_token },
  })
  service.advance(31 * 60_000)
  expect((await service.call('/v1/auth/me', { token: tokens.access_token })).json.code).toBe('token_expired')
  await service.say(
    id,
    'still delivered',
    (
      await service.call('/v1/auth/refresh', {
        method: 'POST',
        token: null,
        body: { refresh_token: fresh.json.refresh_token },
      })
    ).json.access_token,
  )
  await stream.until(({ ids }) => ids().length === 1)
  const admin = await service.call(`/v1/admin/users/${user.id}`, {
    method: 'DELETE',
    token: await service.mintAdmin(),
  })
  expect(admin.status).toBe(204)
  expect((await stream.ended).clean).toBe(true)
})
