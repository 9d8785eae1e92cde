/** Pages that axe looks at, one after the other. */
import { RUN_ALL, SAMPLE } from '@cairn/protocol/test/sample'
import type { Page } from 'playwright-core'
import { lookWithAxe } from './axe.ts'

export type Looks = {
  /** Opens a page of the server and waits until it shows that. */
  load: (path: string, ready: string) => Promise<void>
  /** Checks the page with axe (`lookWithAxe`), when the sample of the run has this call. */
  look: (name: string) => Promise<void>
  /** Everything that was found so far. */
  found: string[]
}

/**
 * A check takes about two CPU seconds. Of `oneIn` calls of `look` one checks the page, and successive commits
 * cover all of them.
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
