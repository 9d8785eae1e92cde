/** Many pages of one browser over HTTP/1.1, which allows six connections per server in total. */
import type { Browser, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, PATIENCE_MS, say, waitFor } from './session.ts'

const LOAD_MS = 10_000
const ask = { name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which colour?' }] } }
const scenario = {
  pace_ms: 0,
  rules: [{ when: { user: 'ask' }, answer: { tool_calls: [ask] } }, { answer: { text: 'Very well.' } }],
}

/** The texts of the messages in a chat. */
const messagesOf = (page: Page): Promise<string[]> =>
  page.locator('[data-testid="chat-content"] .user').allTextContents()

/** Ends the shared worker of a server's pages like a crash: the pages are not notified. */
async function endSharedWorker(browser: Browser, server: string): Promise<number> {
  const cdp = await browser.newBrowserCDPSession()
  const { targetInfos } = await cdp.send('Target.getTargets')
  const workers = targetInfos.filter(({ type, url }) => type === 'shared_worker' && url.startsWith(server))
  for (const { targetId } of workers) await cdp.send('Target.closeTarget', { targetId })
  return workers.length
}

/** Promise 4.23: Ten visible pages of one browser stay live when one closes or their shared worker dies. */
test('ten visible pages load and stay live when the first page closes and when their shared worker dies', async () => {
  const { url, loginUrl, client } = await startService(makePlace({ scenario }))
  const browser = await openBrowser()
  const context = await browser.newContext()
  context.setDefaultTimeout(PATIENCE_MS)
  const first = await context.newPage()
  await first.goto(loginUrl)
  await first.waitForURL(url => url.pathname === '/')

  const ids: string[] = []
  for (let n = 0; n < 6; n++) ids.push(await newSession(client))
  for (const [at, id] of ids.entries()) await say(client, id, `hello ${at}`)
  const paths = [...ids.map(id => `/sessions/${id}`), '/sessions', '/inbox', '/missions', '/schedules']
  const pages: Page[] = []
  const loads: number[] = []
  for (const path of paths) {
    const page = pages.length === 0 ? first : await context.newPage()
    const startedAt = performance.now()
    await page.goto(url + path, { timeout: LOAD_MS })
    await page.getByTestId('nav-inbox').waitFor({ timeout: LOAD_MS })
    loads.push(Math.round(performance.now() - startedAt))
    pages.push(page)
  }
  console.log(`load of each page, ms: ${loads.join(' ')}`)
  const chats = ids.map((id, at) => ({ id, at, page: pages[at]! }))
  const isLive = async (word: string, open: typeof chats): Promise<void> => {
    for (const { id, at } of open) await say(client, id, `${word} ${at}`)
    for (const { at, page } of open) await page.getByText(`${word} ${at}`, { exact: true }).first().waitFor()
  }
  await isLive('live', chats)

  // The first page, which started the shared worker.
  await pages[0]!.close()
  const left = chats.slice(1)
  await isLive('closed', left)

  expect(await endSharedWorker(browser, url)).toBe(1)
  await isLive('again', left)
  for (const { at, page } of left)
    expect(await messagesOf(page)).toEqual(['hello', 'live', 'closed', 'again'].map(word => `${word} ${at}`))

  // Every page is notified of an inbox item.
  const asked = await newSession(client)
  await waitFor(client, asked, await say(client, asked, 'ask me'), isType('inbox.input_required'))
  for (const page of pages.slice(1)) await page.getByTestId('inbox-count').getByText('1').waitFor()
})

test('a page without shared workers and a page that cannot start them follow their session', async () => {
  const { url, loginUrl, client } = await startService(makePlace({ scenario }))
  const context = await (await openBrowser()).newContext()
  context.setDefaultTimeout(PATIENCE_MS)
  // The page gets an error event for a script that does not load, and an exception if storage is blocked.
  const scripts = [
    'delete globalThis.SharedWorker',
    'globalThis.SharedWorker = class { constructor() { throw new Error("blocked") } }',
    `const Real = SharedWorker
     globalThis.SharedWorker = class { constructor() { return new Real("/assets/missing.js") } }`,
  ]
  const first = await context.newPage()
  await first.goto(loginUrl)
  await first.waitForURL(url => url.pathname === '/')
  for (const script of scripts) {
    const id = await newSession(client)
    const page = await context.newPage()
    await page.addInitScript(script)
    await page.goto(`${url}/sessions/${id}`)
    await page.locator('[data-testid="connection"][data-state="live"]').waitFor()
    await say(client, id, 'hello')
    await page.getByText('hello', { exact: true }).first().waitFor()
    await page.close()
  }
})
