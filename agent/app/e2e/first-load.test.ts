/** Limits on the scripts that a browser loads before it shows the login form, the first page or the sessions. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { runTurn } from './session.ts'

/** Total size of the scripts in bytes, as the server compresses them. */
const MAX_BYTES = 130_000

async function scriptsOf(page: Page): Promise<{ bytes: number; scripts: string[] }> {
  const sizes = await page.evaluate<Record<string, number>>(
    `Object.fromEntries(performance.getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js'))
      .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize]))`,
  )
  for (const [path, bytes] of Object.entries(sizes)) expect(bytes, path).toBeGreaterThan(0)
  return { bytes: Object.values(sizes).reduce((sum, size) => sum + size, 0), scripts: Object.keys(sizes) }
}

/** Promise 4.15: The login form, the first page and the sessions load at most 130 kB of scripts each. */
test('the login form, the first page and the sessions load at most 130 kB of scripts each', async () => {
  const server = await startService(makePlace())
  const { page } = await openPage(await openBrowser())
  await page.goto(`${server.url}/login`)
  await page.locator('[data-testid="login-form"]').waitFor()
  const login = await scriptsOf(page)
  expect(login.scripts.length, 'scripts are counted').toBeGreaterThan(2)
  expect(login.bytes, login.scripts.join(' ')).toBeLessThanOrEqual(MAX_BYTES)

  // The token is in the fragment: opened from the login page itself, the URL would not load a new page.
  await page.goto('about:blank')
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const sums = [`login ${login.bytes}`]
  await page.locator('[data-testid="home-task"]').waitFor()
  const { id } = await server.client.call('createSession', { body: {} })
  await runTurn(server.client, id, 'hello')
  // With a session: the sections of the page, and a row of the table, are part of what is measured.
  for (const [path, ready] of [
    ['/', '[data-testid="home-recent"]'],
    ['/sessions', '[data-testid="session-item"]'],
  ] as const) {
    await page.goto('about:blank')
    await page.goto(server.url + path)
    await page.locator(ready).first().waitFor()
    await page.locator('[data-testid="demo-notice"]').waitFor()
    const { bytes, scripts } = await scriptsOf(page)
    expect(scripts.some(script => script.includes('frame'))).toBe(true)
    sums.push(`${path} ${bytes}`)
    expect(bytes, scripts.join(' ')).toBeLessThanOrEqual(MAX_BYTES)
  }
  console.log(`first load, gzip bytes of ${MAX_BYTES}: ${sums.join(', ')}`)
})
