/** The installable page: its manifest, its offline page, what its worker keeps, and Web Push. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { CHROMIUM, openBrowser, openPage, takePictures } from './browser.ts'
import { by, POLL } from './page-session.ts'
import { makePlace, startServer, startService } from './server.ts'
import { isType, newSession, say, waitFor } from './session.ts'

const scenario = {
  rules: [
    {
      when: { user: '^ask' },
      answer: {
        tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which colour?' }] } }],
      },
    },
    { answer: { text: 'Very well.' } },
  ],
}

const keptPaths = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(async () => {
    const keys = []
    for (const name of await caches.keys())
      for (const { url } of await (await caches.open(name)).keys()) keys.push(new URL(url).pathname)
    return keys
  })()`)

const untilControlled = (page: Page): Promise<unknown> =>
  page.evaluate(`navigator.serviceWorker.controller ??
    new Promise(resolve => navigator.serviceWorker.addEventListener('controllerchange', resolve))`)

/** Promise 4.26: The worker of the page keeps its files only, and never an answer of the API. */
test('the page can be installed, and without a server it shows the offline page and keeps no data', async () => {
  const server = await startServer(makePlace({ scenario }))
  const { page } = await openPage(await openBrowser(), { hasWorker: true })
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  const manifest = (await (await fetch(`${server.url}/manifest.webmanifest`)).json()) as {
    icons: { src: string; purpose?: string }[]
    start_url: string
  }
  expect(manifest).toMatchObject({ name: 'Cairn Agent', start_url: '/', display: 'standalone' })
  expect(manifest.icons.some(({ purpose }) => purpose === 'maskable')).toBe(true)
  for (const { src } of manifest.icons)
    expect([src, (await fetch(server.url + src)).status]).toEqual([src, 200])
  await untilControlled(page)
  await page.goto(`${server.url}/sessions`)
  await page.locator('main h1').waitFor()
  await page.goto(`${server.url}/inbox`)
  await page.locator('main h1').waitFor()
  const kept = await keptPaths(page)
  expect(kept).toContain('/offline.html')
  expect(kept.some(path => path.startsWith('/assets/'))).toBe(true)
  // Neither data nor a page: those are asked for each time.
  expect(
    kept.filter(path => !/^\/(?:assets\/|offline\.|icon|theme\.js$|manifest\.webmanifest$)/.test(path)),
  ).toEqual([])

  await server.kill()
  await page.goto(`${server.url}/inbox`)
  await page.getByRole('heading', { name: 'Offline' }).waitFor()
  expect(await lookWithAxe(page, 'offline')).toEqual([])
  await takePictures(page, 'offline')
  const asked = page.waitForRequest(request => request.isNavigationRequest())
  await page.getByRole('button', { name: 'Retry' }).press('Enter')
  await asked
  await page.getByRole('heading', { name: 'Offline' }).waitFor()
})

/** A push service of the test. The real ones of the browser makers cannot be reached from here. */
async function startPushService() {
  const received: string[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received.push(request.url ?? '')
      response.writeHead(201).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

/** Replaces the browser's own push service, with a subscription that has real keys. */
const subscribeAt = (endpoint: string): string => `{
  let subscription = null
  const base64url = bytes => btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  PushManager.prototype.getSubscription = async () => subscription
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || atob(applicationServerKey.replaceAll('-', '+').replaceAll('_', '/')).length !== 65)
      throw new Error('not the options of a subscription')
    const pair = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits'])
    const keys = {
      p256dh: base64url(await crypto.subtle.exportKey('raw', pair.publicKey)),
      auth: base64url(crypto.getRandomValues(new Uint8Array(16))),
    }
    const endpoint = '${endpoint}'
    subscription = { endpoint, toJSON: () => ({ endpoint, keys }), unsubscribe: async () => { subscription = null } }
    return subscription
  }
}`

/** Turns push on in the settings of notifications. */
async function turnPushOn(page: Page, server: Awaited<ReturnType<typeof startService>>, endpoint: string) {
  await page.context().grantPermissions(['notifications'], { origin: server.url })
  await page.addInitScript(subscribeAt(endpoint))
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  await untilControlled(page)
  await by(page, 'account').click()
  await by(page, 'open-notices').click()
  await by(page, 'push-state').getByText('Off.').waitFor()
  expect(await lookWithAxe(page, 'notifications')).toEqual([])
  await by(page, 'push-toggle').focus()
  await page.keyboard.press('Enter')
  await by(page, 'push-state').getByText('This browser notifies you').waitFor()
}

/** Promise 4.19: Web Push is off until a person turns it on, and ends with their logout. */
test('a person turns push on, is notified of a question, opens its item, and turns push off', async () => {
  const pushService = await startPushService()
  const notices = { egress: { internal: ['127.0.0.1'] } }
  const server = await startService(makePlace({ scenario, config: { notices } }))
  const { client } = server
  // The headless shell has no notifications.
  const { page, troubles } = await openPage(await openBrowser(CHROMIUM), { hasWorker: true })
  await turnPushOn(page, server, `${pushService.url}/browser`)
  await takePictures(page, 'notices-push')
  await by(page, 'test-push').click()
  await expect.poll(() => pushService.received, POLL).toEqual(['/browser'])

  await client.call('chooseNotices', { body: { after_s: 0 } })
  const asking = await newSession(client)
  await waitFor(client, asking, await say(client, asking, 'ask me'), isType('inbox.input_required'))
  await expect.poll(() => pushService.received.length, POLL).toBe(2)

  // What the worker does with a message that the browser has decrypted.
  const { items } = await client.call('listInbox', { query: { status: 'pending' } })
  const item_id = items[0]?.id ?? ''
  const [worker] = page.context().serviceWorkers()
  const shown = await worker!.evaluate<object[]>(`(async () => {
    const event = new Event('push')
    event.data = { json: () => (${JSON.stringify({ title: 'Question', body: 'Untitled session', item_id })}) }
    let done
    event.waitUntil = given => (done = given)
    dispatchEvent(event)
    await done
    const shown = await registration.getNotifications()
    return shown.map(({ title, body, tag, data }) => ({ title, body, tag, data }))
  })()`)
  expect(shown).toEqual([
    { title: 'Question', body: 'Untitled session', tag: item_id, data: `/inbox?item=${item_id}` },
  ])

  await by(page, 'account').click()
  await by(page, 'logout').click()
  await page.waitForURL('**/login')
  expect((await client.call('getNotices')).push).toEqual([])
  expect(troubles).toEqual([])
})

test('a subscription that the browser replaced is renewed at the server, for its own person only', async () => {
  const pushService = await startPushService()
  const notices = { egress: { internal: ['127.0.0.1'] } }
  const server = await startService(makePlace({ scenario, config: { notices } }))
  const { client } = server
  const { page } = await openPage(await openBrowser(CHROMIUM), { hasWorker: true })
  const first = `${pushService.url}/browser`
  await turnPushOn(page, server, first)
  const idsOf = async () => (await client.call('getNotices')).push.map(({ id }) => id)
  const [before] = await idsOf()

  const [worker] = page.context().serviceWorkers()
  await worker!.evaluate(`(() => ${subscribeAt(`${pushService.url}/renewed`)})()`)
  /** What the browser does when it has ended this subscription. */
  const endSubscription = (oldSubscription: { endpoint: string } | null) =>
    worker!.evaluate(`(async () => {
      const event = new Event('pushsubscriptionchange')
      event.oldSubscription = ${JSON.stringify(oldSubscription)}
      let done
      event.waitUntil = given => (done = given)
      dispatchEvent(event)
      await done
    })()`)
  await endSubscription({ endpoint: `${pushService.url}/of-another-person` })
  expect(await idsOf()).toEqual([before])
  await endSubscription({ endpoint: first })
  const renewed = await idsOf()
  expect(renewed).toHaveLength(1)
  expect(renewed).not.toEqual([before])
  await by(page, 'test-push').click()
  await expect.poll(() => pushService.received, POLL).toEqual(['/renewed'])

  // Some browsers do not name the subscription that ended.
  await client.call('unsubscribePush', { params: { browser_id: renewed[0] ?? '' } })
  await endSubscription(null)
  expect(await idsOf()).toEqual([])
})
