/** Every page against all rules of axe-core: three widths, light and dark. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DESKTOP, openBrowser, openPage, PHONE } from './browser.ts'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, say, waitFor } from './session.ts'

const SIZES = { desktop: DESKTOP, laptop: { width: 1280, height: 720 }, phone: PHONE }
const SCHEMES = ['light', 'dark'] as const

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] }

/** What axe finds on the page as it is; each with the first node that has it. */
async function violationsOf(page: Page): Promise<string[]> {
  const found = await page.evaluate<Violation[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then(result => result.violations)',
  )
  return found.map(
    ({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
  )
}

test('axe finds no violation on any page, at three widths, in light and in dark', async () => {
  const server = await startServer(makePlace())
  const { page } = await openPage(await openBrowser())
  // The policy of the site lets no script in but its own; axe comes in by the debugger.
  const load = async (path: string, ready: string) => {
    await page.goto(server.url + path)
    await page.locator(ready).first().waitFor()
    await page.evaluate(axe.source)
  }
  const found: string[] = []
  const look = async (name: string) => {
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport)
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        for (const violation of await violationsOf(page))
          found.push(`${name} ${size} ${colorScheme}: ${violation}`)
      }
    }
    await page.setViewportSize(DESKTOP)
  }
  await load('/login', '[data-testid="login-form"]')
  await look('login')
  // The token is in the fragment: from the login page itself this would be no new page.
  await page.goto('about:blank')
  await page.goto(server.loginUrl)
  await page.waitForURL('**/sessions')
  const id = await newSession(server.client)
  await load(`/sessions/${id}`, '[data-testid="composer"]')
  await look('a new session')
  await say(server.client, id, 'Show me what you can do')
  await waitFor(server.client, id, 0, isType('inbox.input_required'))
  await load(`/sessions/${id}`, '[data-testid="question-card"][data-state="open"]')
  await look('chat with a question')
  await page.locator('[data-testid="tool-card"] summary').first().click()
  await look('an open call')
  await load('/sessions', '[data-testid="session-item"]')
  await look('list')
  await load(`/sessions/${id}/events?id=3`, '[data-testid="event-detail"]')
  await look('events with a detail')
  await load(`/sessions/${id}/workers`, '[data-testid="worker-row"]')
  await look('workers')
  await load('/inbox', '[data-testid="inbox-item"]')
  await look('inbox')
  await load('/missions', 'main')
  await look('missions')
  await load('/schedules', 'main')
  await look('schedules')
  await load('/docs', 'main')
  await look('docs')
  expect(found, found.join('\n')).toEqual([])
})
