/** The keys of the EVENTS tab in a real Chromium, without a click into the grid. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { newSession, PATIENCE_MS, readLog, runTurn } from './session.ts'

const by = (page: Page, id: string) => page.locator(`[data-testid="${id}"]`)
const POLL = { timeout: PATIENCE_MS }
// These run in the page, so they are strings: this program has no DOM types.
const FOCUSED = `document.activeElement?.dataset.testid ?? document.activeElement?.tagName`
const ACTIVE = `document.querySelector('[role="row"][aria-selected="true"]')`
const ACTIVE_ROW = `${ACTIVE}?.getAttribute('aria-rowindex') ?? null`

/** Opens a log that is longer than the window. */
async function openEvents(page: Page): Promise<{ rows: number; last: number }> {
  const server = await startService(
    makePlace({ scenario: { rules: [{ answer: { text: 'Said and done.' } }] } }),
  )
  const id = await newSession(server.client)
  for (let turn = 0; turn < 8; turn++) await runTurn(server.client, id, `turn ${turn}`)
  const log = await readLog(server.client, id)
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'tab-events').click()
  await page.locator(`[data-event-id="${log.at(-1)!.id}"]`).waitFor()
  const rows = Number(await by(page, 'event-grid').getAttribute('aria-rowcount')) - 1
  return { rows, last: log.at(-1)!.id }
}
const activeRow = (page: Page): Promise<number | null> =>
  page.evaluate<string | null>(ACTIVE_ROW).then(index => (index === null ? null : Number(index) - 1))

/** Promise 4.15: The keys of the EVENTS tab work without a click first. */
test('every key of the EVENTS tab works without a click into the grid first', async () => {
  const { page, troubles } = await openPage(await openBrowser())
  const { rows } = await openEvents(page)
  expect(await page.evaluate(FOCUSED)).toBe('event-grid')

  await page.keyboard.press('Home')
  await expect.poll(() => activeRow(page), POLL).toBe(1)
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => activeRow(page), POLL).toBe(2)
  await page.keyboard.press('PageDown')
  await expect.poll(async () => (await activeRow(page))! > 5, POLL).toBe(true)
  await page.keyboard.press('PageUp')
  await expect.poll(() => activeRow(page), POLL).toBe(2)
  await page.keyboard.press('End')
  await expect.poll(() => activeRow(page), POLL).toBe(rows)
  await page.keyboard.press('Enter')
  await by(page, 'event-detail').waitFor()
  await page.keyboard.press('Escape')
  await by(page, 'event-detail').waitFor({ state: 'detached' })
  expect(troubles).toEqual([])
})

test('Enter on a newly opened tab shows the newest event, and a letter key returns the focus to the grid', async () => {
  const { page } = await openPage(await openBrowser())
  const { last } = await openEvents(page)
  await page.keyboard.press('Enter')
  await by(page, 'event-detail').waitFor()
  await page.waitForURL(`**/events?id=${last}`)
  await page.keyboard.press('Escape')

  await by(page, 'tab-events').focus()
  await page.keyboard.press('k')
  expect(await page.evaluate(FOCUSED)).toBe('event-grid')
  await page.keyboard.press('Home')
  await expect.poll(() => activeRow(page), POLL).toBe(1)
})

test('the focus stays on the tabs after an arrow key opened the EVENTS tab', async () => {
  const { page } = await openPage(await openBrowser())
  await openEvents(page)
  await by(page, 'tab-chat').click()
  await by(page, 'tab-chat').focus()
  // The tabs wrap around: EVENTS is the last one.
  await page.keyboard.press('ArrowLeft')
  await by(page, 'event-grid').waitFor()
  expect(await page.evaluate(FOCUSED)).toBe('tab-events')
  await page.keyboard.press('j')
  expect(await page.evaluate(FOCUSED)).toBe('event-grid')
})
