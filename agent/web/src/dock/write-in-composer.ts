/** Writes a command into the composer of the open session, once that is on the page. */
import { writeInto } from '../ui/write-into.ts'

const FIELD = '[data-testid="composer"]'
/** A session that loads slower than this has no composer yet: the command is dropped. */
const WAIT_MS = 10_000

export function writeInComposer(text: string): void {
  const field = document.querySelector(FIELD)
  if (field !== null) return writeInto(field, text)
  const observer = new MutationObserver(() => {
    const found = document.querySelector(FIELD)
    if (found === null) return
    observer.disconnect()
    writeInto(found, text)
  })
  observer.observe(document.body, { childList: true, subtree: true })
  setTimeout(() => observer.disconnect(), WAIT_MS)
}
