/** A session that a person starts and follows on the page. */
import type { CairnClient } from '@cairn/client'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { newSession, PATIENCE_MS, readLog } from './session.ts'

export const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
export const POLL = { timeout: PATIENCE_MS }
/** Chooses an option of a picker (ui/picker.tsx). */
export async function choose(picker: Locator, option: string): Promise<void> {
  await picker.click()
  await picker.page().getByRole('option', { name: option, exact: true }).click()
}
/** The picker with that label. Its name also has the value. */
export const picker = (within: Page | Locator, label: string): Locator =>
  within
    .getByRole('button', { name: new RegExp(`\\b${label}\\b`) })
    .and(within.locator('[aria-haspopup="listbox"]'))
export const sessionIn = (page: Page): string => /\/sessions\/([^/?]+)/.exec(page.url())?.[1] ?? ''

/** Logs in and opens a session without a message, as another program may create one. */
export async function startSession(page: Page, loginUrl: string, client: CairnClient): Promise<string> {
  await page.goto(loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const id = await newSession(client)
  await page.goto(new URL(`/sessions/${id}`, loginUrl).href)
  await by(page, 'composer').waitFor()
  return id
}

/**
 * Waits until the page's event count equals that of the log, including events that arrive during the wait.
 * Chunks of answers are folded.
 */
export async function untilCounted(page: Page, client: CairnClient, id: string): Promise<void> {
  await expect
    .poll(async () => {
      const { length } = (await readLog(client, id)).filter(({ type }) => type !== 'llm.delta')
      return (await by(page, 'events-status').textContent())?.includes(`${length} events`)
    }, POLL)
    .toBe(true)
}

export async function write(page: Page, text: string): Promise<void> {
  await by(page, 'composer').fill(text)
  await by(page, 'composer').press('Enter')
}
