/** A real Chromium that the tests of a vitest process share, and its screenshots. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type Page, chromium } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { PATIENCE_MS } from './session.ts'

/**
 * The same engine without a desktop's windows and menus uses about two thirds of the CPU time. Debian's
 * package is chromium-headless-shell. If it is not installed, the tests run in Chromium.
 */
const HEADLESS_SHELL = '/usr/lib/chromium/chromium-headless-shell'
/** Supports notifications, which the headless shell lacks. */
export const CHROMIUM = process.env['CHROMIUM'] || '/usr/bin/chromium'
/** Screenshots are updated only on demand: a test run takes none. */
const TAKES_SCREENSHOTS = process.env['UPDATE_SCREENSHOTS'] === '1'
const LIGHTEST = process.env['CHROMIUM'] || (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : CHROMIUM)
/**
 * The address bar of every window loads two pages of its own, which take a third of Chromium's CPU time. This
 * switch overrides Playwright's, so its features come first (chromiumSwitches.ts of playwright-core).
 */
const DISABLED_FEATURES = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
]
const ARGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${DISABLED_FEATURES.join(',')}`,
  // Letters keep their own widths, as on a screen of high density. Hinted ones are spaced unevenly.
  ...(TAKES_SCREENSHOTS ? ['--font-render-hinting=none'] : []),
]

/**
 * Browsers by program, launched by the first test of this vitest process that needs them. They end with the
 * process.
 */
const shared = new Map<string, Browser>()

function launch(program: string): Promise<Browser> {
  if (!existsSync(program))
    throw new Error(
      `There is no Chromium at ${program}. Install it (apt-get install chromium), or name another ` +
        'with CHROMIUM=/path/to/chromium.',
    )
  // Vitest ends a process with SIGTERM and, half a second later, with SIGKILL. An orderly close may take
  // longer and then leaves its profile behind. When its process exits, Playwright kills Chromium and removes
  // the profile.
  process.once('SIGTERM', () => process.exit())
  const options = { executablePath: program, args: ARGS, timeout: PATIENCE_MS, handleSIGTERM: false }
  return chromium.launch(options)
}

/**
 * The Chromium of this vitest process. Each page opens in its own context, with its own cookies, storage,
 * cache and permissions. The contexts are closed after the test.
 */
export async function openBrowser(program: string = LIGHTEST): Promise<Browser> {
  const running = shared.get(program)
  const browser = running?.isConnected() === true ? running : await launch(program)
  shared.set(program, browser)
  onTestFinished(async () => {
    await Promise.all(browser.contexts().map(context => context.close()))
  })
  return browser
}

/**
 * A page that records all errors that occur in it. `hasWorker` allows the service worker of the page.
 * Elsewhere it would answer requests that a test observes or replaces.
 */
export async function openPage(
  browser: Browser,
  { hasWorker = false } = {},
): Promise<{ page: Page; troubles: string[] }> {
  const page = await browser.newPage({
    viewport: DESKTOP,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    serviceWorkers: hasWorker ? 'allow' : 'block',
  })
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

const SCREENSHOTS = fileURLToPath(new URL('../../../docs/screenshots', import.meta.url))

/**
 * Takes screenshots of the page in light, in dark and at the width of a phone, then restores it. Without
 * UPDATE_SCREENSHOTS only `arrangePhone` and its checks run, at the width of a phone.
 */
export async function takePictures(
  page: Page,
  name: string,
  arrangePhone?: () => Promise<void>,
): Promise<void> {
  const take = (variant: string): Promise<unknown> =>
    page.screenshot({ path: join(SCREENSHOTS, `${name}-${variant}.png`), animations: 'disabled' })
  if (TAKES_SCREENSHOTS) {
    mkdirSync(SCREENSHOTS, { recursive: true })
    await page.emulateMedia({ colorScheme: 'light' })
    await take('light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await take('dark')
    await page.emulateMedia({ colorScheme: 'light' })
  } else if (arrangePhone === undefined) return
  await page.setViewportSize(PHONE)
  await arrangePhone?.()
  if (TAKES_SCREENSHOTS) await take('phone')
  await page.setViewportSize(DESKTOP)
}
