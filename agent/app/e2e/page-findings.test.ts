/** The findings of the first review of the page (docs/testing.md) that no other test covers. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DESKTOP, openBrowser, openPage, PHONE } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { newSession, runTurn } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const scenario = {
  pace_ms: 0,
  rules: [
    {
      when: { user: '^work' },
      steps: [
        call('terminal', { command: 'echo planted' }),
        call('create_artifact', {
          name: 'Beans',
          spec: { kind: 'table', columns: ['Bean', 'Rows'], rows: [['red', 3]] },
        }),
        { text: 'Done.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

test('keeps the reading position, button sizes, complete artifacts, and state marks in every theme', async () => {
  const server = await startService(makePlace({ scenario }))
  const { client } = server
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')

  // 23: loading older messages above does not move the messages in view.
  const long = await newSession(client)
  for (let n = 0; n < 45; n++) await runTurn(client, long, `message ${n}`)
  await page.goto(`${server.url}/sessions/${long}`)
  await by(page, 'answer').last().waitFor()
  const older = page.locator('button.earlier')
  await older.scrollIntoViewIfNeeded()
  const first = by(page, 'chat-content').locator('.user').first()
  const text = (await first.textContent()) ?? ''
  const same = by(page, 'chat-content').locator('.user').filter({ hasText: text }).first()
  const before = (await same.boundingBox())!.y
  await older.click()
  await expect.poll(() => by(page, 'chat-content').locator('.user').count()).toBe(45)
  await expect.poll(async () => Math.abs((await same.boundingBox())!.y - before)).toBeLessThan(4)

  // 29: on a phone a call shows what it does, and every control is large enough to tap.
  const id = await newSession(client)
  await runTurn(client, id, 'work')
  await page.setViewportSize(PHONE)
  await page.goto(`${server.url}/sessions/${id}`)
  const terminal = by(page, 'tool-card', '[data-tool="terminal"]')
  await terminal.getByText('echo planted').first().waitFor()
  await page.getByRole('button', { name: 'Bean' }).first().waitFor()
  const small = `[...document.querySelectorAll('button, a.button, summary, [role="tab"]')]
    .map(each => [each.getAttribute('aria-label') ?? each.textContent, each.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 1 && (width < 24 || height < 24)).map(([name]) => name)`
  expect(await page.evaluate<string[]>(small)).toEqual([])
  await page.setViewportSize(DESKTOP)

  // 31: an artifact is listed, shown as source and in full, and its rows can be copied as CSV.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${server.url}/sessions/${id}?rail=artifacts`)
  const rail = by(page, 'rail')
  await rail.getByText('Beans').first().waitFor()
  await rail.locator('[data-testid="copy-csv"]').click()
  await expect
    .poll(() => page.evaluate<string>('navigator.clipboard.readText()'))
    .toMatch(/^Bean,Rows\r?\nred,3/)
  await rail.locator('[data-testid="artifact-source"]').click()
  await rail.locator('[data-testid="code-block"]').waitFor()
  await rail.locator('[data-testid="artifact-full"]').click()
  await page.getByRole('dialog').getByText('red').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  // 35: on a phone sessions are grouped under their day. Archived sessions can be found and restored.
  await page.setViewportSize(PHONE)
  await page.goto(`${server.url}/sessions`)
  await page.getByText('Today', { exact: true }).waitFor()
  await page.setViewportSize(DESKTOP)
  await client.call('archiveSession', { params: { id } })
  await page.goto(`${server.url}/sessions/${id}?rail=files`)
  await rail.getByText('Files were deleted when the session was archived').waitFor()
  await by(page, 'restore').click()
  await by(page, 'composer').waitFor()

  // 37: where a theme removes colors, borders carry the same information.
  await page.emulateMedia({ forcedColors: 'active' })
  const signs = (selector: string) =>
    page.evaluate<string>(
      `(({ borderTopStyle, borderBottomStyle, outlineStyle }) =>
        [borderTopStyle, borderBottomStyle, outlineStyle].join())(
        getComputedStyle(document.querySelector('${selector}')))`,
    )
  // A state mark has the theme's own colors, with a border in every state.
  const dot = await page.evaluate<{ adjust: string; border: string }>(
    `(({ forcedColorAdjust, borderTopWidth, borderTopStyle }) =>
      ({ adjust: forcedColorAdjust, border: borderTopWidth + ' ' + borderTopStyle }))(
      getComputedStyle(document.querySelector('.recent .dot')))`,
  )
  expect(dot).toEqual({ adjust: 'none', border: '2px solid' })
  expect(await signs('.recent [data-open]')).toContain('solid')
  expect(await signs('.tab[aria-selected="true"]')).toContain('solid')
  expect(troubles).toEqual([])
})
