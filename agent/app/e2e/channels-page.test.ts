/**
 * The channels page in a real Chromium: create, test, repair and remove a connection. Its secret is never
 * readable.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { startCallback } from '@cairn/channels/test/callback'
import { SECRET, signed } from '@cairn/channels/test/signed'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { choose, picker } from './page-session.ts'
import { makePlace, startServer } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const POLL = { timeout: PATIENCE_MS }
const by = (page: Page, id: string) => page.locator(`[data-testid="${id}"]`)
const scenario = { rules: [{ when: { user: '^(.*)$' }, answer: { text: 'echo {{user.1}}' } }] }

/** Promise 11.5: Secrets entered on the page are sealed and appear in no response, file or log line. */
test(
  'a channel is created on the page, sends a test message, and a failed delivery is sent again',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const callback = await startCallback(SECRET)
    onTestFinished(callback.close)
    const egress = { internal: ['127.0.0.1'] }
    const place = makePlace({ scenario, config: { agents: { greeter: { governance: { egress } } } } })
    const first = await startServer(place)
    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(first.loginUrl)
    await page.waitForURL(url => url.pathname === '/')
    await page.goto(`${first.url}/admin/channels`)

    await by(page, 'new-channel').click()
    const field = (label: string) => by(page, 'channel-form').getByLabel(label, { exact: true })
    await field('Name').fill('support')
    await field('Secret').fill(SECRET)
    await field('Agent').fill('greeter')
    await choose(picker(by(page, 'channel-form'), 'Access'), 'open')
    await field('Callback URL').fill('http://10.0.0.1/cairn')
    await by(page, 'save-channel').click()
    await by(page, 'channel-problem').getByText('egress.internal').waitFor()
    await field('Callback URL').fill(callback.url)
    await takePictures(page, 'channels-form')
    await by(page, 'save-channel').click()
    const card = page.locator('[data-testid="channel"]')
    await page.locator('[data-testid="channel"][data-state="live"]').waitFor()

    // A message arrives at the path shown on the card and is answered.
    const path = await card.locator('code').first().textContent()
    const send = async (text: string): Promise<number> => {
      const { headers, raw } = signed({ text })
      return (await fetch(first.url + path, { method: 'POST', headers, body: Buffer.from(raw) })).status
    }
    expect(await send('hello')).toBe(200)
    await expect.poll(() => callback.seen().map(({ text }) => text), POLL).toEqual(['echo hello'])

    callback.reply(400)
    await by(page, 'channel-test').click()
    await by(page, 'test-to').fill('C9')
    await by(page, 'send-test').click()
    await page.locator('[data-testid="test-outcome"][data-state="dead"]').waitFor()
    await by(page, 'test-outcome').getByText('the callback returned 400').waitFor()
    await page.locator('[data-testid="channel"][data-state="degraded"]').waitFor()
    await by(page, 'channel-senders').click()
    await by(page, 'sender').getByText('not linked').waitFor()
    await by(page, 'channel-dead').click()
    await by(page, 'dead-letter').waitFor()
    await takePictures(page, 'channels')
    await by(page, 'retry-letter').click()
    await expect.poll(() => by(page, 'dead-letter').count(), POLL).toBe(0)
    await expect
      .poll(() => callback.seen().at(-1), POLL)
      .toMatchObject({ conversation_id: 'C9', text: 'This is a test message of the channel support.' })

    // A disabled channel stays disabled after the server was killed.
    await by(page, 'disableChannel').click()
    await page.locator('[data-testid="channel"][data-state="disabled"]').waitFor()
    expect(await send('is anybody there?')).toBe(404)
    expect(troubles.filter(trouble => !trouble.includes('422'))).toEqual([])
    await first.kill()
    const second = await startServer(place)
    const { client } = second
    const [channel] = (await client.call('listChannels', {})).channels
    expect(channel).toMatchObject({ name: 'support', state: 'disabled', origin: 'page' })
    await client.call('enableChannel', { params: { channel_id: channel!.id } })
    await expect
      .poll(async () => (await client.call('listChannels', {})).channels[0]?.state, POLL)
      .toBe('live')
    const { settings, secrets } = await client.call('getChannel', { params: { channel_id: channel!.id } })
    expect([settings['callback_url'], secrets]).toEqual([callback.url, ['secret']])

    // The secret appears nowhere in plain text.
    const plain = SECRET.slice('whsec_'.length)
    for (const file of readdirSync(place.dataDir, { recursive: true, withFileTypes: true }))
      if (file.isFile())
        expect([file.name, readFileSync(join(file.parentPath, file.name)).includes(plain)]).toEqual([
          file.name,
          false,
        ])
    expect(first.log() + second.log()).not.toContain(plain)
  },
)
