/** A session that a person starts and follows on the page. */
import type { CairnClient } from '@cairn/client'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { PATIENCE_MS, readLog } from './session.ts'

export const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
export const POLL = { timeout: PATIENCE_MS }
export const sessionIn = (page: Page): string => /\/sessions\/([^/?]+)/.exec(page.url())?.[1] ?? ''

export async function startSession(page: Page, loginUrl: string): Promise<string> {
  await page.goto(loginUrl)
  await page.waitForURL('**/sessions')
  await by(page, 'new-session').click()
  await page.waitForURL('**/sessions/*')
  return sessionIn(page)
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
