/** Artifacts are loaded only when they come near the visible part of the chat. */
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { newSession, runTurn } from './session.ts'

const chart = (name: string) => ({
  name: 'create_artifact',
  arguments: {
    name,
    spec: {
      kind: 'chart',
      chart: { type: 'bar', labels: ['a', 'b'], datasets: [{ label: 'x', data: [1, 2] }] },
    },
  },
})
const lines = (count: number): string => Array.from({ length: count }, (_, at) => `- line ${at}`).join('\n')
const scenario = {
  pace_ms: 0,
  rules: [
    // Lines before it, too: the page may draw the chat from its top before it scrolls to the end.
    {
      when: { user: '^far' },
      steps: [{ text: lines(80), tool_calls: [chart('far')] }, { text: lines(80) }],
    },
    { when: { user: '^near' }, steps: [{ tool_calls: [chart('near')] }, { text: lines(16) }] },
    { answer: { text: 'Charts' } },
  ],
}

test('draws a chart that is scrolled out of view but near it, even if the page opens late', async () => {
  const server = await startService(makePlace({ scenario }))
  const id = await newSession(server.client)
  for (const text of ['far', 'near']) await runTurn(server.client, id, text)
  const { page, troubles } = await openPage(await openBrowser())
  await page.setViewportSize({ width: 1440, height: 560 })
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  // The session is complete before the page opens: the page sees no artifact being created.
  await page.goto(`${server.url}/sessions/${id}`)
  const artifact = (name: string) => page.locator(`[data-testid="artifact"][aria-label="${name}"]`)
  await artifact('near').locator('canvas').waitFor()
  expect(await artifact('far').textContent()).toContain('Loading')
  await artifact('far').scrollIntoViewIfNeeded()
  await artifact('far').locator('canvas').waitFor()
  expect(troubles).toEqual([])
})
