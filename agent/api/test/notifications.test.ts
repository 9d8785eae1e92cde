/** Contract 4.19: each person's notification settings belong to them and are hidden from others. */
import { NOTIFICATIONS } from '@cairn/log'
import { createSealing, openNotificationCode, openNotificationSecret } from '@cairn/sessions'
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
  offers: { webhook: true, mail: true },
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
  expect((await bare.ann('GET', '')).json.offers).toEqual({ webhook: false, mail: false })
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
