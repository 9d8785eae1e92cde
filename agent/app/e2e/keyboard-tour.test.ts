/** The tour by keyboard alone, with the roles, names and live regions that a screen reader gets. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { endsTurn, isType, waitFor } from './session.ts'

/** Presses Tab until the element with the role and name has the focus. */
async function tabTo(
  page: Page,
  role: 'button' | 'link' | 'textbox' | 'tab' | 'radio',
  name: RegExp,
): Promise<void> {
  const wanted = page.getByRole(role, { name }).first()
  await wanted.waitFor()
  for (let presses = 0; presses < 200; presses++) {
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab never reached the ${role} ${String(name)}`)
}

test('a person can do the tour by keyboard alone: log in, ask, answer, approve, read the log', async () => {
  const server = await startService(makePlace())
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  // On the first day the composer has the focus, and the tour is one of the starts.
  await page.getByRole('textbox', { name: 'Task' }).and(page.locator(':focus')).waitFor()
  await tabTo(page, 'button', /^Take the tour/)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/sessions/*')
  const id = /\/sessions\/([^/?]+)/.exec(page.url())?.[1] ?? ''

  // The conversation is a live log.
  await page.getByRole('log', { name: 'Conversation' }).waitFor()

  // The question is a named group of radio buttons, and the composer takes its answer.
  await waitFor(server.client, id, 0, isType('inbox.input_required'))
  await page.getByRole('region', { name: 'Question' }).waitFor()
  await page.getByRole('radiogroup').waitFor()
  await tabTo(page, 'textbox', /^Your answer$/)
  await page.keyboard.type('1')
  await page.getByRole('status').getByText('Press Enter to answer').waitFor()
  await page.keyboard.press('Enter')

  // The approval names its tool. The A key approves while no text field has the focus.
  const gate = await waitFor(server.client, id, 0, isType('inbox.governance_gate'))
  await waitFor(server.client, id, gate.id, endsTurn)
  const approval = page.getByRole('region', { name: /^Approval: Run / })
  await approval.getByText('wc -w').first().waitFor()
  await tabTo(page, 'button', /^Approve once/)
  await page.keyboard.press('a')
  await page.getByText('It ran, and printed').waitFor()

  // The rail is open, because the agent has a plan. Its button closes and opens it. It is a list of tabs:
  // arrow keys move between them, and Escape returns to the control that opened it.
  await tabTo(page, 'button', /^Overview, changes, files/)
  await page.keyboard.press('Enter')
  await page.getByRole('complementary', { name: 'Details' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'Overview', selected: true }).waitFor()
  for (const name of ['Changes', 'Files', 'Artifacts', 'Timeline']) {
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name, selected: true }).waitFor()
  }
  await page.keyboard.press('Escape')
  await page.getByRole('complementary', { name: 'Details' }).waitFor({ state: 'detached' })

  // EVENTS: the grid gets the focus at once, and its keys work.
  await tabTo(page, 'tab', /^Chat$/)
  for (const name of [/^Run$/, /^Workers$/, /^Browser$/, /^EVENTS/]) {
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name, selected: true }).waitFor()
  }
  await page.getByRole('grid', { name: 'Events' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByTestId('event-detail').waitFor()
  await page.keyboard.press('Escape')
  await page.getByTestId('event-detail').waitFor({ state: 'detached' })

  // Notifications, in the account menu: each choice has a name, and the list of sent notifications is a live
  // region.
  await page.goto(`${server.url}/sessions`)
  await tabTo(page, 'button', /^Account/)
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Notifications' }).waitFor()
  for (let presses = 0; presses < 10; presses++) {
    if ((await page.getByRole('menuitem', { name: 'Notifications' }).and(page.locator(':focus')).count()) > 0)
      break
    await page.keyboard.press('ArrowDown')
  }
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor()
  const questions = page.getByRole('checkbox', { name: /^Questions/ })
  await questions.waitFor()
  for (let presses = 0; presses < 200; presses++) {
    if ((await questions.and(page.locator(':focus')).count()) > 0) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Space')
  await expect.poll(() => questions.isChecked()).toBe(true)
  await page.getByRole('status', { name: 'Recent notifications' }).waitFor({ state: 'attached' })
  expect(troubles).toEqual([])
})
