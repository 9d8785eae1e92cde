/** Checks pages with axe, one after the other. */
import { RUN_ALL, SAMPLE } from '@cairn/protocol/test/sample'
import type { Page } from 'playwright-core'
import { lookWithAxe } from './axe.ts'

export type Looks = {
  /** Opens a page of the server and waits until it shows the selector. */
  load: (path: string, ready: string) => Promise<void>
  /** Checks the page with axe (`lookWithAxe`), when the sample of the run has this call. */
  look: (name: string) => Promise<void>
  /** All violations found so far. */
  found: string[]
}

/**
 * A check takes about two CPU seconds, so only one in `oneIn` calls of `look` checks the page. Successive
 * commits cover all of them.
 */
export function createLooks(page: Page, url: string, { oneIn = 1 } = {}): Looks {
  const found: string[] = []
  let calls = 0
  return {
    found,
    async load(path, ready) {
      await page.goto(url + path)
      await page.locator(ready).first().waitFor()
    },
    async look(name) {
      calls += 1
      if (RUN_ALL || calls % oneIn === SAMPLE % oneIn) found.push(...(await lookWithAxe(page, name)))
    },
  }
}
