/** An open page in a real Chromium while its server crashes, and who sees it without a login. */
import { freePort } from '@cairn/log/test/free-port'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { by, startSession, untilCounted, write } from './page-session.ts'
import { makePlace, startServer, startService } from './server.ts'
import { isType, readLog, waitFor } from './session.ts'

/** Promise 1.1: The page shows every event and survives a server crash without a reload. */
test('an open page recovers from a server crash without a reload and misses no event', async () => {
  const place = makePlace()
  place.env['PORT'] = String(await freePort())
  const first = await startServer(place)
  const { page } = await openPage(await openBrowser())
  const id = await startSession(page, first.loginUrl, first.client)
  await by(page, 'connection', '[data-state="live"]').waitFor()
  await write(page, 'Show me what you can do')
  // The start of a turn of several seconds. How much of it the page has drawn by now does not matter.
  await waitFor(first.client, id, 0, isType('llm.delta'))
  await first.kill()
  await by(page, 'connection', '[data-state="reconnecting"]').waitFor()
  const second = await startServer(place)
  await by(page, 'connection', '[data-state="live"]').waitFor()
  await by(page, 'question-card', '[data-state="open"]').waitFor()
  await by(page, 'tab-events').click()
  await untilCounted(page, second.client, id)
  expect((await readLog(second.client, id)).some(({ type }) => type === 'harness.recovered')).toBe(true)
  await by(page, 'next-alarm').click()
  await by(page, 'event-detail').getByText('harness.recovered').first().waitFor()
})

test('a login link works once, and a visitor without a login sees only the login page', async () => {
  const server = await startService(makePlace())
  const browser = await openBrowser()
  const { page } = await openPage(browser)
  await startSession(page, server.loginUrl, server.client)
  const stranger = await openPage(await openBrowser())
  const sees = (name: string): Promise<boolean> => by(stranger.page, name).isVisible()
  await stranger.page.goto(server.loginUrl)
  await expect.poll(() => sees('login-error'), { message: 'the link is used up' }).toBe(true)
  await stranger.page.goto(`${server.url}/inbox`)
  await expect.poll(() => sees('login-form'), { message: 'the inbox wants a login' }).toBe(true)
})
