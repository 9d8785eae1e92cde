/** A page as it is against all rules of axe-core, at three widths, in light and in dark. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { DESKTOP, PHONE } from './browser.ts'

const SIZES = { desktop: DESKTOP, laptop: { width: 1280, height: 720 }, phone: PHONE }
const SCHEMES = ['light', 'dark'] as const
const LOOKS = Object.entries(SIZES).flatMap(([size, viewport]) =>
  SCHEMES.map(colorScheme => ({ size, viewport, colorScheme })),
)

/**
 * Every size in every scheme with CAIRN_TESTS=all. Otherwise one of the six, chosen by the name, so that a
 * page is looked at in the same way in every run and the pages together in all ways.
 */
function looksFor(name: string): typeof LOOKS {
  if (process.env['CAIRN_TESTS'] === 'all') return LOOKS
  const sum = [...name].reduce((total, character) => total + character.charCodeAt(0), 0)
  return [LOOKS[sum % LOOKS.length]!]
}

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

/**
 * Scripts hear of a new width or scheme with the next frame; what they draw for it stands in the one after.
 *
 * A dialog is opaque later still where React Aria expects a keyboard on the screen. A window that became
 * lower soon after a field had the focus, as that of the look before, makes it expect one for the next
 * dialog; until it has seen that none comes, neither a person nor axe sees the dialog or the page under it.
 */
async function untilDrawn(page: Page): Promise<void> {
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))')
  const opacities = `[...document.querySelectorAll('.modal')].map(modal => getComputedStyle(modal).opacity)`
  await expect.poll(() => page.evaluate<string[]>(opacities)).not.toContain('0')
}

/** What axe finds on the page in each of its looks; the page is left wide and light. */
export async function lookWithAxe(page: Page, name: string): Promise<string[]> {
  // The policy of the site lets no script in but its own; axe comes in by the debugger.
  await page.evaluate(axe.source)
  const found: string[] = []
  for (const { size, viewport, colorScheme } of looksFor(name)) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await untilDrawn(page)
    for (const violation of await violationsOf(page))
      found.push(`${name} ${size} ${colorScheme}: ${violation}`)
  }
  await page.setViewportSize(DESKTOP)
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}
