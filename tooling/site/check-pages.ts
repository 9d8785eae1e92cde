/**
 * Checks of the built site in Chromium: axe in both themes, the width of a phone, the weight of the start
 * page, requests to other origins, and the search.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import { type Browser, type Page, chromium } from 'playwright-core'

export const CHROMIUM = process.env['CHROMIUM'] || '/usr/bin/chromium'

/** A page of each kind. The start page is first. */
const KINDS = [
  '',
  'quickstart/',
  'install/',
  'tune/quickstart/',
  'guides/sizing/',
  'events/',
  'configuration/',
  'http-api/',
  'promises/',
  'decisions/',
  'decisions/0002-embedded-store/',
  '404.html',
]
const DESKTOP = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }
const START_PAGE_MAX_BYTES = 150_000
/** A word that many pages contain. */
const SEARCHED = 'lease'

export type PageReport = { lines: string[]; failures: string[] }

export async function checkPages(url: string, screenshots?: string): Promise<PageReport> {
  if (!existsSync(CHROMIUM))
    throw new Error(
      `There is no Chromium at ${CHROMIUM}. Install it (apt-get install chromium), or name another ` +
        'with CHROMIUM=/path/to/chromium.',
    )
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const failures: string[] = []
    const weight = await weighStartPage(browser, url)
    if (weight.bytes > START_PAGE_MAX_BYTES)
      failures.push(`the start page loads ${weight.bytes} bytes, max ${START_PAGE_MAX_BYTES}`)
    const found = await search(browser, url)
    if (found === 0) failures.push(`the search finds no page for "${SEARCHED}"`)
    const looked = await lookAtKinds(browser, url, screenshots)
    failures.push(...looked)
    return {
      lines: [
        `start page: ${(weight.bytes / 1000).toFixed(1)} kB in ${weight.requests} requests, ` +
          `${(weight.uncompressed / 1000).toFixed(1)} kB uncompressed`,
        `search: ${found} results for "${SEARCHED}"`,
        `axe, width and origins: ${KINDS.length} kinds of pages, light and dark, 1440 and 390 px`,
      ],
      failures,
    }
  } finally {
    await browser.close()
  }
}

/** Bytes of everything that the start page loads until the network is idle, compressed and not. */
async function weighStartPage(
  browser: Browser,
  url: string,
): Promise<{ bytes: number; uncompressed: number; requests: number }> {
  const page = await browser.newPage({ viewport: DESKTOP })
  const loads: Promise<[compressed: number, uncompressed: number]>[] = []
  page.on('requestfinished', request => {
    loads.push(
      Promise.all([
        request.sizes().then(({ responseBodySize }) => responseBodySize),
        request.response().then(async response => (await response?.body())?.length ?? 0),
      ]),
    )
  })
  await page.goto(url, { waitUntil: 'networkidle' })
  const sizes = await Promise.all(loads)
  await page.close()
  const sum = (at: 0 | 1): number => sizes.reduce((total, size) => total + size[at], 0)
  return { bytes: sum(0), uncompressed: sum(1), requests: sizes.length }
}

async function search(browser: Browser, url: string): Promise<number> {
  const page = await browser.newPage({ viewport: DESKTOP })
  await page.goto(url, { waitUntil: 'networkidle' })
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('textbox').fill(SEARCHED)
  const results = page.locator('.pagefind-ui__result-link')
  await results.first().waitFor()
  const count = await results.count()
  await page.close()
  return count
}

async function lookAtKinds(browser: Browser, url: string, screenshots?: string): Promise<string[]> {
  const failures: string[] = []
  if (screenshots !== undefined) mkdirSync(screenshots, { recursive: true })
  for (const theme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme: theme, reducedMotion: 'reduce' })
    const page = await context.newPage()
    page.on('request', request => {
      const { protocol, origin } = new URL(request.url())
      if (protocol.startsWith('http') && `${origin}/` !== url)
        failures.push(`${page.url()} loads ${request.url()}`)
    })
    page.on('pageerror', error => failures.push(`${page.url()}: ${String(error)}`))
    for (const route of KINDS)
      for (const viewport of [DESKTOP, PHONE]) {
        await page.setViewportSize(viewport)
        const response = await page.goto(`${url}${route}`, { waitUntil: 'load' })
        if (response?.ok() !== true) failures.push(`/${route}: status ${response?.status()}`)
        const where = `/${route} (${theme}, ${viewport.width} px)`
        failures.push(...(await findViolations(page)).map(text => `${where}: ${text}`))
        if ((await page.evaluate('document.documentElement.scrollWidth > innerWidth')) === true)
          failures.push(`${where}: the page is wider than the window`)
        if (screenshots !== undefined)
          await page.screenshot({
            path: join(
              screenshots,
              `${route.replaceAll(/\W+/g, '-') || 'start-'}-${theme}-${viewport.width}.png`,
            ),
          })
      }
    await context.close()
  }
  return failures
}

async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help} (${nodes.length}, first ${String(nodes[0]?.target)})`,
  )
}
