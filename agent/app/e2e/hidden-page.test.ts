/**
 * A person who looks away sees pending items as a count on the tab and, if they are turned on, as
 * notifications.
 */
import { expect, test } from 'vitest'
import { CHROMIUM, openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, PATIENCE_MS, say, waitFor } from './session.ts'

const POLL = { timeout: PATIENCE_MS }
const ask = { name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which colour?' }] } }
const scenario = { rules: [{ when: { user: 'ask' }, answer: { tool_calls: [ask] } }] }

// This runs in the page, so it is a string. A headless page is always visible: the test sets the visibility.
const OBSERVED = `
  Object.defineProperty(document, 'visibilityState', {
    get: () => (sessionStorage.getItem('away') === 'true' ? 'hidden' : 'visible'),
  })
  window.told = []
  window.Notification = class extends Notification {
    constructor(title, options) {
      super(title, options)
      window.told.push(options.tag)
    }
  }`

test('an item that arrives while the page is hidden is one notification; the tab counts open items', async () => {
  const { url, loginUrl, client } = await startService(makePlace({ scenario }))
  const browser = await openBrowser(CHROMIUM)
  const { page, troubles } = await openPage(browser)
  await page.context().grantPermissions(['notifications'])
  await page.addInitScript(OBSERVED)
  const look = (isAway: boolean) => page.evaluate(`sessionStorage.setItem('away', '${isAway}')`)
  const title = () => page.title()
  const icon = () => page.evaluate<string>(`document.querySelector('link[rel="icon"]').getAttribute('href')`)
  /** Asks a question in a new session. Returns the id of the inbox item. */
  const asked = async (): Promise<string> => {
    const id = await newSession(client)
    await waitFor(client, id, await say(client, id, 'ask me'), isType('inbox.input_required'))
    return (await client.call('listInbox', { query: { session_id: id } })).items[0]!.id
  }
  await page.goto(loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${url}/notices`)
  await page.getByTestId('notices-browser').click()
  await page.getByText('On while a Cairn page is open').waitFor()
  expect([(await title()).startsWith('('), await icon()]).toEqual([false, '/icon.svg'])

  // Items that were open before the page opened are not announced.
  const items = [await asked()]
  await look(true)
  await page.reload()
  await expect.poll(title, POLL).toMatch(/^\(1\) /)
  expect(await icon()).toBe('/icon-waiting.svg')
  items.push(await asked())
  await expect.poll(title, POLL).toMatch(/^\(2\) /)
  // Items that arrive while the page is visible are not announced either.
  await look(false)
  const lists: string[] = []
  page.on('response', response => {
    if (response.url().includes('/v1/inbox?'))
      void response.text().then(
        text => lists.push(text),
        () => {},
      )
  })
  const shown = await asked()
  items.push(shown)
  await expect.poll(title, POLL).toMatch(/^\(3\) /)
  // The count and the items come from two requests. The page decides in the frame after it has the items.
  await expect.poll(() => lists.some(text => text.includes(shown)), POLL).toBe(true)
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await look(true)
  items.push(await asked())
  await expect.poll(title, POLL).toMatch(/^\(4\) /)
  await expect.poll(() => page.evaluate('window.told'), POLL).toEqual([items[1], items[3]])
  expect(troubles).toEqual([])
})
