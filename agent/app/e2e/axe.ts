/** Checks the current page against all axe-core rules, at three widths, in light and in dark. */
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
 * With CAIRN_TESTS=all, every size in every color scheme. Otherwise one of the six, chosen by the name: a
 * page is checked in the same way in every run, and the pages together cover all six.
 */
function looksFor(name: string): typeof LOOKS {
  if (process.env['CAIRN_TESTS'] === 'all') return LOOKS
  const sum = [...name].reduce((total, character) => total + character.charCodeAt(0), 0)
  return [LOOKS[sum % LOOKS.length]!]
}

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] }

/** The axe violations of the current page, each with the first node that has it. */
async function violationsOf(page: Page): Promise<string[]> {
  const found = await page.evaluate<Violation[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then(result => result.violations)',
  )
  return found.map(
    ({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
  )
}

/**
 * Scripts react to a new width or color scheme in the next frame, and the page shows the result in the frame
 * after it.
 *
 * A dialog takes longer to become opaque if React Aria expects an on-screen keyboard. It expects one for the
 * next dialog if a window became lower soon after a field got the focus, which happens in the previous check.
 * Until React Aria sees that no keyboard appears, neither a person nor axe can see the dialog or the page
 * under it.
 */
async function untilDrawn(page: Page): Promise<void> {
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))')
  const opacities = `[...document.querySelectorAll('.modal')].map(modal => getComputedStyle(modal).opacity)`
  await expect.poll(() => page.evaluate<string[]>(opacities)).not.toContain('0')
}

/** The axe violations of the page in each size and color scheme. Leaves the page wide and light. */
export async function lookWithAxe(page: Page, name: string): Promise<string[]> {
  // The site's policy allows only its own scripts, so axe is injected through the debugger.
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
