/** "Find a session" in a real Chromium: it looks through all of them and says what it looked at. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startServer } from './server.ts'

const by = (page: Page, id: string) => page.locator(`[data-testid="${id}"]`)

test('a session is found however old it is, and "none" is said only when all were looked through', async () => {
  const server = await startServer(makePlace())
  const make = (title: string) => server.client.call('createSession', { body: { title } })
  const old = await make('Needle alpha')
  const gone = await make('Needle omega')
  await server.client.call('archiveSession', { params: { id: gone.id } })
  for (let n = 0; n < 130; n++) await make(`Hay ${n}`)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL('**/sessions')
  await by(page, 'session-item').first().waitFor()
  expect(await by(page, 'session-item').getByText('Needle').count(), 'it is not loaded').toBe(0)

  const note = by(page, 'sessions-note')
  await by(page, 'session-search').fill('needle')
  await note.getByText('Found by title, agent or id.').waitFor()
  expect(await by(page, 'session-item').getByText('Needle alpha').count()).toBe(1)
  expect(await by(page, 'session-item').count()).toBe(1)

  await by(page, 'session-search').fill(old.id.slice(0, 13))
  await by(page, 'session-item').getByText('Needle alpha').waitFor()

  await by(page, 'session-search').fill('needle beta')
  await note.getByText('No session has “needle beta” in its title, agent or id.').waitFor()
  expect(await by(page, 'session-item').count()).toBe(0)

  await page.getByRole('button', { name: 'Show archived sessions' }).click()
  await by(page, 'session-search').fill('omega')
  await by(page, 'session-item').getByText('Needle omega').waitFor()
  expect(troubles).toEqual([])
})
