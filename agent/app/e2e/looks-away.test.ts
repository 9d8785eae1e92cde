/** A person who looks away is told what waits: by a count on the tab, by notifications if they want them. */
import { expect, test } from 'vitest'
import { CHROMIUM, openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, PATIENCE_MS, say, waitFor } from './session.ts'

const POLL = { timeout: PATIENCE_MS }
const ask = { name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which colour?' }] } }
const scenario = { rules: [{ when: { user: 'ask' }, answer: { tool_calls: [ask] } }] }

// Run in the page, so it is text here. A page without a screen is always in sight: the test says when not.
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

test('what begins to wait while nobody looks is one notification; the tab counts what waits', async () => {
  const { url, loginUrl, client } = await startService(makePlace({ scenario }))
  const browser = await openBrowser(CHROMIUM)
  const { page, troubles } = await openPage(browser)
  await page.context().grantPermissions(['notifications'])
  await page.addInitScript(OBSERVED)
  const look = (isAway: boolean) => page.evaluate(`sessionStorage.setItem('away', '${isAway}')`)
  const title = () => page.title()
  const icon = () => page.evaluate<string>(`document.querySelector('link[rel="icon"]').getAttribute('href')`)
  /** Asks in a session of its own; the id of the item. */
  const asked = async (): Promise<string> => {
    const id = await newSession(client)
    await waitFor(client, id, await say(client, id, 'ask me'), isType('inbox.input_required'))
    return (await client.call('listInbox', { query: { session_id: id } })).items[0]!.id
  }
  await page.goto(loginUrl)
  await page.waitForURL('**/sessions')
  await page.goto(`${url}/notices`)
  await page.getByTestId('notices-browser').click()
  await page.getByText('On while a Cairn page is open').waitFor()
  expect([(await title()).startsWith('('), await icon()]).toEqual([false, '/icon.svg'])

  // What waited when the page was opened is no news.
  const items = [await asked()]
  await look(true)
  await page.reload()
  await expect.poll(title, POLL).toMatch(/^\(1\) /)
  expect(await icon()).toBe('/icon-waiting.svg')
  items.push(await asked())
  await expect.poll(title, POLL).toMatch(/^\(2\) /)
  // Nor is what comes while the person looks.
  await look(false)
  items.push(await asked())
  await expect.poll(title, POLL).toMatch(/^\(3\) /)
  await look(true)
  items.push(await asked())
  await expect.poll(title, POLL).toMatch(/^\(4\) /)
  await expect.poll(() => page.evaluate('window.told'), POLL).toEqual([items[1], items[3]])
  expect(troubles).toEqual([])
})
