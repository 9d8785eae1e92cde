/** A real Chromium, and where its pictures go. */
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type Page, chromium } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { PATIENCE_MS } from './session.ts'

const CHROMIUM = process.env['CHROMIUM'] || '/usr/bin/chromium'
const ARGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export async function openBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM))
    throw new Error(
      `There is no Chromium at ${CHROMIUM}. Install it (apt-get install chromium), or name another ` +
        'with CHROMIUM=/path/to/chromium.',
    )
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: PATIENCE_MS })
  onTestFinished(() => browser.close())
  return browser
}

/** A page that remembers everything that went wrong in it. */
export async function openPage(browser: Browser): Promise<{ page: Page; troubles: string[] }> {
  const page = await browser.newPage({ viewport: DESKTOP, colorScheme: 'light', reducedMotion: 'reduce' })
  page.setDefaultTimeout(PATIENCE_MS)
  const troubles: string[] = []
  page.on('console', message => {
    if (message.type() === 'error') troubles.push(`${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', error => troubles.push(String(error)))
  return { page, troubles }
}

export const DESKTOP = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }

/** The pictures of the README are renewed only on demand: a test run leaves the tree as it was. */
const PICTURES =
  process.env['UPDATE_SCREENSHOTS'] === '1'
    ? fileURLToPath(new URL('../../../docs/screenshots', import.meta.url))
    : mkdtempSync(join(tmpdir(), 'cairn-screenshots-'))

/** The page in light, in dark and at the width of a phone, and back as it was. */
export async function takePictures(
  page: Page,
  name: string,
  arrangePhone: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  mkdirSync(PICTURES, { recursive: true })
  const take = async (variant: string): Promise<void> =>
    void (await page.screenshot({ path: join(PICTURES, `${name}-${variant}.png`), animations: 'disabled' }))
  await page.emulateMedia({ colorScheme: 'light' })
  await take('light')
  await page.emulateMedia({ colorScheme: 'dark' })
  await take('dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(PHONE)
  await arrangePhone()
  await take('phone')
  await page.setViewportSize(DESKTOP)
}
