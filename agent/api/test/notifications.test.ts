/** Contract 4.19: each person's notification settings belong to them and are hidden from others. */
import { NOTIFICATIONS } from '@cairn/log'
import { createSealing, openNotificationCode, openNotificationSecret, pushTargets } from '@cairn/sessions'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { ConfigInput } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { startService } from './service.ts'

const WITH_MAIL: ConfigInput = {
  notices: {
    mail: { smtp: { host: 'localhost', security: 'none' }, from: 'cairn@example.org' },
  },
}
const OFF = {
  kinds: [],
  scope: 'own',
  after_s: 30,
  webhook: null,
  mail: null,
  push: [],
  offers: { webhook: true, mail: true, push: true },
  recent: [],
}

async function begin(config: ConfigInput = WITH_MAIL) {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-notices-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const sealing = createSealing({ file: join(dir, 'key') })
  const service = await startService({
    config,
    notices: { sealing, urlProblem: url => (url.includes('inside') ? 'leads inside' : null) },
  })
  const { user, token } = await service.addUser()
  const as =
    (given: string) =>
    (method: string, path: string, body?: unknown, headers = {}) =>
      service.call(`/v1/notices${path}`, {
        method,
        token: given,
        ...(body === undefined ? {} : { body }),
        headers,
      })
  return { service, sealing, id: user.id, ann: as(token), as }
}

/** Promise 4.19: A person's notification settings are visible only to them. */
test('notifications are off by default, and only the person themselves sees or changes their settings', async () => {
  const { service, ann, as } = await begin()
  await using _ = service
  expect((await ann('GET', '')).json).toEqual(OFF)
  const chosen = await ann('PATCH', '', { kinds: ['governance_gate'], after_s: 0 })
  expect(chosen.json).toMatchObject({ kinds: ['governance_gate'], after_s: 0, scope: 'own' })
  expect((await ann('POST', '/webhook', { url: 'https://example.org/hook' })).status).toBe(201)
  const org_id = service.addOrganisation()
  for (const token of [
    service.adminToken,
    (await service.addUser()).token,
    (await service.addUser(undefined, { admin: true, org_id })).token,
  ]) {
    const other = as(token)
    expect((await other('GET', '')).json).toEqual(OFF)
    expect((await other('DELETE', '/webhook')).status).toBe(204)
    await other('PATCH', '', { kinds: ['task_complete'] })
  }
  expect((await ann('GET', '')).json).toMatchObject({
    kinds: ['governance_gate'],
    webhook: { url: 'https://example.org/hook' },
  })
})

test('only its person can resend an abandoned notification, which keeps its id', async () => {
  const { service, id: userId, ann, as } = await begin()
  await using _ = service
  const { notifications, channels } = service.store
  await ann('POST', '/webhook', { url: 'https://example.org/hook' })
  const { id } = (await ann('POST', '/test', { way: 'webhook' })).json.recent[0]
  const own = { id, user_id: userId }
  const resend = (call = ann) => call('POST', `/${id}/resend`)
  expect((await resend()).status, 'it waits anyway').toBe(404)
  const epoch = (await channels.acquire(NOTIFICATIONS, 'deliver', 'test', 60_000)) ?? 0
  await notifications.begin({ ...own, attempts: 0 }, epoch)
  await notifications.settle(own, { state: 'dead', error: 'the webhook answered 410' }, epoch)
  for (const token of [service.adminToken, (await service.addUser()).token])
    expect((await resend(as(token))).json.code).toBe('not_found')
  expect((await resend()).json.recent).toMatchObject([{ id, state: 'due', attempts: 0, error: null }])
})

test('a service account has no notifications', async () => {
  const { service, as } = await begin()
  await using _ = service
  const { token } = await service.addServiceAccount({ scope: 'org' })
  expect((await as(token)('GET', '')).json.code).toBe('service_account_route')
  expect((await service.call('/v1/api/notices', { token })).status).toBe(404)
})

test('the webhook secret is shown once, encrypted in the store, and replaced at each change', async () => {
  const { service, sealing, id, ann } = await begin()
  await using _ = service
  const url = 'https://example.org/hook'
  const key = { 'idempotency-key': 'once' }
  const { json } = await ann('POST', '/webhook', { url }, key)
  expect(json).toEqual({ url, secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string })
  expect((await ann('POST', '/webhook', { url }, key)).json.code).toBe('shown_once')
  expect((await ann('GET', '')).text).not.toContain(json.secret)
  const settings = (await service.store.notifications.settings(id))!
  expect(JSON.stringify(settings)).not.toContain(json.secret)
  expect(openNotificationSecret(sealing, settings)).toBe(json.secret)
  expect(
    openNotificationSecret(sealing, { ...settings, user_id: 'another' }),
    'moved to another person',
  ).toBeNull()
  expect((await ann('POST', '/webhook', { url })).json.secret).not.toBe(json.secret)
})

test('an internal webhook URL and a disabled notification method are rejected with the reason', async () => {
  const { service, ann } = await begin()
  await using _ = service
  const refused = await ann('POST', '/webhook', { url: 'https://inside.example' })
  expect([refused.status, refused.json.errors]).toEqual([422, [{ path: 'url', message: 'leads inside' }]])
  expect((await ann('POST', '/test', { way: 'webhook' })).json.detail).toBe('You have no webhook yet.')
  const bare = await begin({ notices: { webhook: false } })
  await using __ = bare.service
  expect((await bare.ann('GET', '')).json.offers).toEqual({ webhook: false, mail: false, push: true })
  const mail = await bare.ann('POST', '/mail', { address: 'ann@example.org' })
  expect([mail.status, mail.json.detail]).toEqual([409, expect.stringContaining('notices.mail') as string])
  expect((await bare.ann('POST', '/webhook', { url: 'https://example.org' })).status).toBe(409)
})

test('an email address is confirmed by its code, with five attempts per code', async () => {
  const { service, sealing, id, ann } = await begin()
  await using _ = service
  const codeNow = async () => {
    return openNotificationCode(sealing, (await service.store.notifications.settings(id))!) ?? ''
  }
  const ask = () => ann('POST', '/mail', { address: 'Ann@Example.org' })
  const set = await ask()
  expect(set.json).toMatchObject({
    mail: { address: 'ann@example.org', confirmed: false },
    recent: [{ way: 'mail', item_id: null, state: 'due' }],
  })
  const code = await codeNow()
  const wrong = code === '11111111' ? '22222222' : '11111111'
  for (let n = 0; n < 5; n++) expect((await ann('POST', '/mail/confirm', { code: wrong })).status).toBe(409)
  expect((await ann('POST', '/mail/confirm', { code })).status, 'five failed attempts').toBe(409)
  await ask()
  const confirmed = await ann('POST', '/mail/confirm', { code: await codeNow() })
  expect(confirmed.json.mail).toEqual({ address: 'ann@example.org', confirmed: true })
  expect((await ann('POST', '/test', { way: 'mail' })).status).toBe(202)
})

const BROWSER = {
  endpoint: 'https://push.example.org/ann',
  keys: { p256dh: 'A'.repeat(87), auth: 'B'.repeat(22) },
}

/** Promise 4.19: Web Push is off until a person turns it on in a browser, and only they turn it off. */
test('a browser subscribes with the public key, and its address and keys are stored encrypted', async () => {
  const { service, sealing, id, ann, as } = await begin()
  await using _ = service
  const { public_key } = (await ann('GET', '/push/key')).json
  expect(Buffer.from(public_key, 'base64url')).toHaveLength(65)
  expect((await as(service.adminToken)('GET', '/push/key')).json, 'one key for the organisation').toEqual({
    public_key,
  })
  expect((await ann('POST', '/test', { way: 'push' })).json.detail).toBe(
    'You have no subscribed browser yet.',
  )
  const on = await ann('POST', '/push', BROWSER)
  const [browser] = on.json.push
  expect(browser.id).toBe(createHash('sha256').update(BROWSER.endpoint).digest('hex').slice(0, 32))
  expect(on.text).not.toContain(BROWSER.endpoint)
  await ann('POST', '/push', BROWSER)
  const { push } = service.store
  expect(JSON.stringify(await push.subscriptions(id))).not.toContain('push.example.org')
  expect(JSON.stringify(await push.key(service.admin.org_id))).toContain(public_key)
  expect(await pushTargets({ store: { push }, sealing }, id)).toEqual([{ id: browser.id, ...BROWSER }])

  expect((await as(service.adminToken)('DELETE', `/push/${browser.id}`)).status).toBe(204)
  expect((await ann('GET', '')).json.push).toHaveLength(1)
  expect((await ann('DELETE', `/push/${browser.id}`)).status).toBe(204)
  expect((await ann('GET', '')).json.push).toEqual([])
})

test('an internal push service, a malformed key and a disabled Web Push are rejected with the reason', async () => {
  const { service, ann } = await begin()
  await using _ = service
  const inside = await ann('POST', '/push', { ...BROWSER, endpoint: 'https://inside.example/x' })
  expect([inside.status, inside.json.errors]).toEqual([422, [{ path: 'endpoint', message: 'leads inside' }]])
  expect((await ann('POST', '/push', { ...BROWSER, keys: { p256dh: 'x', auth: 'y' } })).status).toBe(422)
  const bare = await begin({ notices: { push: false } })
  await using __ = bare.service
  expect((await bare.ann('GET', '/push/key')).json.detail).toContain('notices.push')
  expect((await bare.ann('POST', '/push', BROWSER)).status).toBe(409)
})

test('a key that cannot be opened any more is replaced, and the browsers bound to it are removed', async () => {
  const { service, id, ann } = await begin()
  await using _ = service
  const before = (await ann('GET', '/push/key')).json.public_key
  await ann('POST', '/push', BROWSER)
  const { push } = service.store
  const org = service.admin.org_id
  await push.replaceKey(org, before, { public_key: 'lost', sealed: 'sealed with another key' })
  await ann('POST', '/push', BROWSER)
  const after = (await ann('GET', '/push/key')).json.public_key
  expect(after).not.toBe(before)
  expect(after).not.toBe('lost')
  expect(await push.subscriptions(id)).toEqual([])
})
