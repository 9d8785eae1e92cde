/** Contract 4.18: what a share link shows, to whom and for how long; every other access is rejected. */
import { writer } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { type Service, startService } from '../service.ts'

const DAY = 24 * 60 * 60 * 1000
const SECRET = `ghp_${'a1B2'.repeat(9)}`
const open = () => startService({ config: { auth: { share_days: 2 } } })

async function shareOf(service: Service, id: string, token?: string): Promise<{ token: string; id: string }> {
  const { status, json } = await service.call(`/v1/sessions/${id}/shares`, {
    method: 'POST',
    ...(token && { token }),
  })
  expect(status).toBe(201)
  return json
}
const read = (service: Service, token: string, after = 0) =>
  service.call('/v1/shared', { method: 'POST', token: null, body: { token, after } })

/** A session of a user with a chat and with private content. */
async function talked(service: Service, token: string): Promise<string> {
  const id = await service.newSession(token)
  await service.say(id, `my key is ${SECRET}`, token)
  await service.store.commit({
    session_id: id,
    events: [
      writer('turn')('llm.response', {
        message: { role: 'assistant', content: 'Understood.', reasoning_details: [{ thought: 'private' }] },
        model: 'test/m',
        input_tokens: 777,
        output_tokens: 5,
        reasoning_tokens: 0,
        cache_read_tokens: 0,
        finish_reason: 'stop',
        context_window: 1000,
        cost_usd: 0.123,
      }),
      writer('governance')('policy.denied', {
        tool: 'terminal',
        reason: 'not shown to strangers',
        timestamp: 1,
      }),
    ],
  })
  return id
}

/** Promise 4.18: A shared link shows the chat and no secret, cost, person or policy. */
test('a link shows the chat without a login, and no secret, cost, person or policy', async () => {
  await using service = await open()
  const { user, token } = await service.addUser()
  const id = await talked(service, token)
  const share = await shareOf(service, id, token)
  const { status, json, text } = await read(service, share.token)
  expect([status, json.session]).toMatchObject([200, { agent: 'assistant', state: 'running' }])
  expect(json.events.map(({ type }: { type: string }) => type)).toEqual(['user.message', 'llm.response'])
  expect(text).toContain('Understood.')
  for (const hidden of [SECRET, 'private', '777', '0.123', user.id, user.email, 'strangers', id, share.id])
    expect(text, hidden).not.toContain(hidden)
  // It continues after a cursor, and the cursor skips hidden events.
  expect(json.last_id).toBe(3)
  expect((await read(service, share.token, 3)).json).toMatchObject({
    events: [],
    last_id: 3,
    has_more: false,
  })
  // The token is returned nowhere else, and opens nothing else.
  const listed = await service.call(`/v1/sessions/${id}/shares`, { token })
  expect(listed.text).not.toContain(share.token)
  for (const path of [`/v1/sessions/${id}`, '/v1/sessions', `/v1/sessions/${id}/events/poll`, '/v1/auth/me'])
    expect((await service.call(path, { token: share.token })).status).toBe(401)
})

/**
 * Promise 4.18: A shared link ends on revocation, on expiry, and with its session or its creator's account.
 */
test('a link ends by revocation, by expiry, and with its session or its account', async () => {
  await using service = await open()
  const { user, token } = await service.addUser()
  const id = await talked(service, token)
  const gone = async (secret: string) => {
    const { status, json } = await read(service, secret)
    expect([status, json.code, json.detail]).toEqual([
      404,
      'not_found',
      'This share link is incomplete or has expired.',
    ])
  }
  await gone('')
  await gone('cairn_sl_')
  await gone(`cairn_sl_${'x'.repeat(43)}`)

  const revoked = await shareOf(service, id, token)
  const end = (share: string) =>
    service.call(`/v1/sessions/${id}/shares/${share}`, { method: 'DELETE', token })
  expect((await end(revoked.id)).status).toBe(204)
  expect((await end(revoked.id)).status).toBe(404)
  await gone(revoked.token)

  const timed = await shareOf(service, id, token)
  expect((await read(service, timed.token.slice(0, -1))).status).toBe(404)
  service.advance(2 * DAY - 1)
  expect((await read(service, timed.token)).status).toBe(200)
  service.advance(1)
  await gone(timed.token)

  const fresh = await service.mintAdmin()
  const last = await shareOf(service, id, fresh)
  expect((await read(service, last.token)).status).toBe(200)
  await service.call(`/v1/sessions/${id}`, { method: 'DELETE', token: fresh })
  await gone(last.token)
  await service.call(`/v1/sessions/${id}/restore`, { method: 'POST', token: fresh })
  expect((await read(service, last.token)).status).toBe(200)

  // The links of a disabled account show nothing.
  const other = await service.addUser()
  const theirs = await talked(service, other.token)
  const link = await shareOf(service, theirs, other.token)
  await service.store.accounts.disableUser(other.user.id, service.now())
  await gone(link.token)
  expect(user.id).not.toBe(other.user.id)
})

/** Promise 4.18: No shared link is created while the setting is off or for another user's session. */
test('no link is created if the setting is off, for a foreign session, or by a service account', async () => {
  await using off = await startService()
  const own = await off.newSession()
  const refused = await off.call(`/v1/sessions/${own}/shares`, { method: 'POST' })
  expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])

  await using service = await open()
  const id = await service.newSession((await service.addUser()).token)
  const stranger = await service.addUser()
  for (const method of ['POST', 'GET'])
    expect((await service.call(`/v1/sessions/${id}/shares`, { method, token: stranger.token })).status).toBe(
      404,
    )
  const machine = await service.addServiceAccount({ scope: 'org' })
  for (const prefix of ['/v1', '/v1/api'])
    expect(
      (await service.call(`${prefix}/sessions/${id}/shares`, { method: 'POST', token: machine.token }))
        .status,
    ).toBeGreaterThanOrEqual(403)
})
