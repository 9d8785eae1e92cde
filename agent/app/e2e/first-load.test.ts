/** Limits on the scripts that a browser loads before it shows the login form or the session list. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startService } from './server.ts'

const DIST = fileURLToPath(new URL('../../web/dist', import.meta.url))
/** Total size of the scripts in bytes, each compressed by gzip at its default level. */
const MAX_BYTES = 130_000

async function scriptsOf(page: Page): Promise<{ bytes: number; scripts: string[] }> {
  const urls = await page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(entry => entry.name).filter(name => name.endsWith('.js'))`,
  )
  const scripts = [...new Set(urls.map(url => new URL(url).pathname))]
  const sizes = scripts.map(path => gzipSync(readFileSync(join(DIST, path))).length)
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), scripts }
}

/** Promise 4.15: The login form and the session list load at most 130 kB of scripts. */
test('the login form and the session list load at most 130 kB of scripts', async () => {
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
  await page.waitForURL('**/sessions')
  await page.reload()
  await page.locator('[data-testid="demo-notice"]').waitFor()
  const list = await scriptsOf(page)
  expect(list.scripts.some(path => path.includes('app-shell'))).toBe(true)
  console.log(`first load, gzip: login ${login.bytes} bytes, list ${list.bytes} of ${MAX_BYTES}`)
  expect(list.bytes, list.scripts.join(' ')).toBeLessThanOrEqual(MAX_BYTES)
})
