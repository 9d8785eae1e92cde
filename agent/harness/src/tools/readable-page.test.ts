import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { htmlToText } from './html-text.ts'
import { readablePage } from './readable-page.ts'

const BASE = 'https://example.org/'
const link = (at: number) => `<li><a href="/page/${at}?x=1&amp;y=2">Page number ${at}</a></li>`
const html = `<title>Links</title><ul>${Array.from({ length: 80_000 }, (_, at) => link(at)).join('')}</ul>`

/** Promise 7.11: Converting a large page does not block the event loop. */
test('converts five megabytes of links off the event loop, with the same result', async () => {
  expect(html.length).toBeGreaterThan(4_500_000)
  const working = new AbortController()
  let turns = 0
  const looking = (async () => {
    for (; !working.signal.aborted; turns++) await setImmediate()
  })()
  const page = await readablePage({ html, base: BASE }, working.signal, 120_000)
  working.abort()
  await looking
  // On the event loop it would take one or two turns.
  expect(turns).toBeGreaterThan(100)
  expect(page).toEqual(htmlToText(html, BASE))
})

test('rejects a page that takes too long, and a stop rejects with its reason', async () => {
  const never = new AbortController().signal
  await expect(readablePage({ html, base: BASE }, never, 1)).rejects.toThrow(
    'making the page readable took longer than 0.001 s: fetch a smaller one',
  )
  const stopped = new AbortController()
  const page = readablePage({ html, base: BASE }, stopped.signal)
  stopped.abort(new Error('stopped'))
  await expect(page).rejects.toThrow('stopped')
})
