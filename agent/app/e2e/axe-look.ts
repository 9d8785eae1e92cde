/** Pages that axe looks at, one after the other. */
import type { Page } from 'playwright-core'
import { lookWithAxe } from './axe.ts'

export type Looks = {
  /** Opens a page of the server and waits until it shows that. */
  load: (path: string, ready: string) => Promise<void>
  /** Looks at what is shown (`lookWithAxe`). */
  look: (name: string) => Promise<void>
  /** Everything that was found so far. */
  found: string[]
}

export function createLooks(page: Page, url: string): Looks {
  const found: string[] = []
  return {
    found,
    async load(path, ready) {
      await page.goto(url + path)
      await page.locator(ready).first().waitFor()
    },
    look: async name => void found.push(...(await lookWithAxe(page, name))),
  }
}
