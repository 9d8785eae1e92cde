/** Web Push as a browser receives it: decrypted with the browser's own key, signed with the public one. */
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pushPublicKey, subscribePush, testNotification } from '@cairn/sessions'
import { importJWK, jwtVerify } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { makeStage } from './stage.ts'

type Received = { path: string; headers: Record<string, unknown>; body: Buffer }

/** A push service: it answers each address with the status that the test sets, 201 by default. */
async function startPushService() {
  const received: Received[] = []
  const statuses = new Map<string, number>()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const path = request.url ?? ''
      received.push({ path, headers: request.headers, body: Buffer.concat(parts) })
      response.writeHead(statuses.get(path) ?? 201).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, received, statuses }
}

function makeBrowser(endpoint: string) {
  const pair = createECDH('prime256v1')
  const p256dh = pair.generateKeys().toString('base64url')
  const auth = randomBytes(16).toString('base64url')
  /** RFC 8291 and RFC 8188, with one record: salt, record size, length of the key, key, ciphertext. */
  const read = (body: Buffer): unknown => {
    const salt = body.subarray(0, 16)
    const sender = body.subarray(21, 21 + (body[20] ?? 0))
    const sealed = body.subarray(21 + sender.length)
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), pair.getPublicKey(), sender])
    const secret = Buffer.from(auth, 'base64url')
    const input = Buffer.from(hkdfSync('sha256', pair.computeSecret(sender), secret, info, 32))
    const derive = (label: string, bytes: number): Buffer =>
      Buffer.from(hkdfSync('sha256', input, salt, `Content-Encoding: ${label}\0`, bytes))
    const cipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12))
    cipher.setAuthTag(sealed.subarray(-16))
    const padded = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()])
    return JSON.parse(padded.subarray(0, padded.lastIndexOf(2)).toString())
  }
  return { subscription: { endpoint, keys: { p256dh, auth } }, read }
}

async function begin() {
  const stage = await makeStage()
  const service = await startPushService()
  const browsers = ['/phone', '/desk'].map(path => makeBrowser(service.url + path))
  for (const { subscription } of browsers) await subscribePush(stage.deps, stage.ann, subscription)
  const ids = async () => (await stage.view()).push.length
  return { stage, service, browsers, ids }
}

/** Promise 4.19: A push message is encrypted for the browser and names kind, session and item only. */
test('an open item is pushed to each browser, encrypted, signed, without the text of the item', async () => {
  const { stage, service, browsers } = await begin()
  stage.start()
  const item_id = await stage.raise('rm -rf --secret')
  await expect.poll(stage.recent).toEqual([{ state: 'sent', attempts: 1, error: null }])
  expect(service.received.map(({ path }) => path).toSorted()).toEqual(['/desk', '/phone'])
  const [first] = service.received.filter(({ path }) => path === '/phone')
  expect(browsers[0]?.read(first!.body)).toEqual({ title: 'Action', body: 'Tidy the shed', item_id })
  expect(first!.body.toString('latin1')).not.toContain('Tidy')
  expect(first!.headers).toMatchObject({ ttl: '86400', urgency: 'high', 'content-encoding': 'aes128gcm' })
  expect(first!.headers['topic']).toMatch(/^[\w-]{32}$/)

  // The signature is by the key that the browser subscribed with, for this push service alone.
  const [, jwt = '', key = ''] =
    /^vapid t=([^,]+), k=(.+)$/.exec(String(first!.headers['authorization'])) ?? []
  expect(key).toBe(await pushPublicKey(stage.deps, stage.ann))
  const point = Buffer.from(key, 'base64url')
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'))
  const { payload } = await jwtVerify(
    jwt,
    await importJWK({ kty: 'EC', crv: 'P-256', x: x!, y: y! }, 'ES256'),
  )
  expect(payload).toMatchObject({ aud: service.url, sub: 'mailto:cairn@example.org' })
})

test('a browser that ended its subscription is removed, and the others still receive', async () => {
  const { stage, service, ids } = await begin()
  service.statuses.set('/desk', 410)
  stage.start()
  await stage.raise()
  await expect.poll(stage.recent).toEqual([{ state: 'sent', attempts: 1, error: null }])
  expect(await ids()).toBe(1)
  service.statuses.set('/phone', 404)
  await stage.raise('Another')
  await expect
    .poll(async () => (await stage.recent())[0])
    .toEqual({
      state: 'dead',
      attempts: 1,
      error: 'no browser is subscribed any more',
    })
  expect(await ids()).toBe(0)
})

test('a browser whose key is not a key is removed, and the others still receive', async () => {
  const { stage, service, ids } = await begin()
  const broken = { endpoint: `${service.url}/broken`, keys: { p256dh: 'A'.repeat(87), auth: 'B'.repeat(22) } }
  await subscribePush(stage.deps, stage.ann, broken)
  stage.start()
  await stage.raise()
  await expect.poll(stage.recent).toEqual([{ state: 'sent', attempts: 1, error: null }])
  expect(service.received.map(({ path }) => path)).not.toContain('/broken')
  expect(await ids()).toBe(2)
})

test('a push service that is down is tried again, and news is not pushed', async () => {
  const { stage, service, ids } = await begin()
  service.statuses.set('/desk', 503).set('/phone', 503)
  stage.start()
  await stage.raise()
  await expect
    .poll(async () => (await stage.recent())[0])
    .toEqual({ state: 'due', attempts: 1, error: 'the push service returned 503' })
  service.statuses.clear()
  stage.advance(60_000)
  await expect.poll(async () => (await stage.recent())[0]).toMatchObject({ state: 'sent', attempts: 2 })
  expect(await ids()).toBe(2)
})

test('a test reaches the browsers that are subscribed', async () => {
  const { stage, service, browsers } = await begin()
  stage.start()
  await testNotification(stage.deps, stage.ann, 'push')
  await expect.poll(() => service.received.length).toBe(2)
  const [first] = service.received.filter(({ path }) => path === '/phone')
  expect(browsers[0]?.read(first!.body)).toMatchObject({ title: 'Test notification', item_id: null })
})
