/** Search in a real Chromium: it finds messages of any age, and the URL contains the words and filters. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'

const by = (page: Page, id: string) => page.locator(`[data-testid="${id}"]`)

/**
 * Promise 4.12: Search finds a session regardless of its age and reports no result only after searching all
 * sessions.
 */
test('finds a session of any age, and reports no result only after searching all sessions', async () => {
  const server = await startService(makePlace())
  const make = (title: string) => server.client.call('createSession', { body: { title } })
  const old = await make('Needle alpha')
  await server.client.call('sendMessage', {
    params: { id: old.id },
    body: { content: 'where does the <b>wombat</b> live?' },
  })
  const gone = await make('Needle omega')
  await server.client.call('archiveSession', { params: { id: gone.id } })
  for (let n = 0; n < 130; n++) await make(`Hay ${n}`)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions`)
  await by(page, 'session-item').first().waitFor()
  expect(await by(page, 'session-item').getByText('Needle').count(), 'it is not loaded').toBe(0)

  const note = by(page, 'sessions-note')
  await by(page, 'session-search').fill('needle')
  await note.getByText('Searched titles, messages, answers and tool calls').waitFor()
  // The code that renders results is loaded with the first result.
  await by(page, 'session-item').getByText('Needle alpha').waitFor()
  expect(await by(page, 'session-item').count()).toBe(1)

  await by(page, 'session-search').fill(old.id)
  await by(page, 'session-item').getByText('Needle alpha').waitFor()

  // A matching message is found, highlighted, shown as plain text, and links to its event. The URL contains
  // the words.
  await by(page, 'session-search').fill('the wom')
  const hit = by(page, 'search-hit').filter({ hasText: /^Message/ })
  await hit.waitFor()
  expect(await hit.textContent()).toBe('Message where does the <b>wombat</b> live?')
  expect(await hit.locator('mark').allTextContents()).toEqual(['the', 'wombat'])
  await hit.click()
  await page.waitForURL(`**/sessions/${old.id}/events?**`)
  await by(page, 'event-detail').waitFor()
  // The address of the list holds the words.
  await page.goBack()
  await hit.waitFor()
  await page.reload()
  await hit.waitFor()
  expect(new URL(page.url()).searchParams.get('q')).toBe('the wom')
  await takePictures(page, 'search', () => hit.waitFor())
  expect(await by(page, 'session-search').inputValue()).toBe('the wom')

  await by(page, 'session-search').fill('needle beta')
  await note
    .getByText('No session contains all words of “needle beta” in one message, answer or tool call')
    .waitFor()
  expect(await by(page, 'session-item').count()).toBe(0)

  await page.getByRole('button', { name: 'Show archived sessions' }).click()
  await by(page, 'session-search').fill('omega')
  await by(page, 'session-item').getByText('Needle omega').waitFor()

  await page.goto(`${server.url}/sessions?state=failed&age=7d`)
  await note.getByText('No sessions match these filters').waitFor()
  expect(troubles).toEqual([])
})
