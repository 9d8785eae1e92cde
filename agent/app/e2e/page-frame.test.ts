/** What all pages have in common, measured on each: the head, the states, the focus ring, the tables. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DESKTOP, openBrowser, openPage, PHONE } from './browser.ts'
import { type PageAddress, fillEveryPage, placeOfEveryPage } from './every-page.ts'
import { FOCUSED, type Focused } from './focus-ring.ts'
import { BROKEN, OUTSIDE } from './layout.ts'
import { startService } from './server.ts'

const TABLET = { width: 768, height: 1024 }
/** Tab stops of one page that are checked. */
const MAX_STOPS = 40

async function begin() {
  const server = await startService(placeOfEveryPage())
  const pages = await fillEveryPage(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const load = async ({ path, ready }: PageAddress): Promise<void> => {
    await page.goto(server.url + path)
    await page.locator(ready).first().waitFor()
  }
  return { ...pages, page, troubles, load }
}

const settle = (page: Page) =>
  page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')

/** The place and the type of the title, and the height of the head that it is in. */
const HEAD = `(() => {
  const title = document.querySelector('main h1')
  const head = title.closest('header')
  const main = document.querySelector('main').getBoundingClientRect()
  const { left, top, height } = title.getBoundingClientRect()
  const { fontSize, fontWeight, fontFamily } = getComputedStyle(title)
  return JSON.stringify({
    left: Math.round(left - main.left),
    middle: Math.round(top + height / 2 - main.top),
    fontSize, fontWeight, fontFamily,
    head: Math.round(head.getBoundingClientRect().height),
  })
})()`

/** The words that name a state, without the one mark for states. */
const OTHER_STATES = `(() => {
  const WORDS = /^(active|paused|blocked|satisfied|failed|cancelled|live|connecting|error|disabled|idle|running|done|needs [a-z]+|waiting[a-z ]*)$/i
  const found = []
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!WORDS.test(node.data.trim())) continue
    const element = node.parentElement
    if (element.closest('.status, button, a.button, label, h1, h2, h3, th, select, .visually-hidden, pre') !== null) continue
    // A mark before the name of the row, and the word in a column.
    if (element.closest('tr, li')?.querySelector('.dot') != null) continue
    // What a key does.
    if (element.parentElement.querySelector('kbd') !== null) continue
    if (element.getClientRects().length > 0) found.push(node.data.trim() + ' in ' + element.className)
  }
  return found
})()`

/** The looks of the states: the size of the mark, its distance from the word, and the case of the word. */
const STATES = `[...document.querySelectorAll('main .status')].map(each => {
  const mark = each.querySelector('.dot')
  const word = each.textContent
  return JSON.stringify({
    mark: mark === null ? 'none' : [mark.offsetWidth, mark.offsetHeight].join(),
    gap: getComputedStyle(each).columnGap,
    isSentence: word.charAt(0) === word.charAt(0).toUpperCase(),
  })
})`

test('every page has its title at one place and in one size, and every state is the one component', async () => {
  const { page, troubles, framed, views, load } = await begin()
  const heads: Record<string, string[]> = {}
  const states = new Set<string>()
  const others: string[] = []
  for (const address of [...framed, ...views]) {
    await load(address)
    if (framed.includes(address)) {
      const head = await page.evaluate<string>(HEAD)
      heads[head] = [...(heads[head] ?? []), address.path]
    }
    for (const viewport of [PHONE, DESKTOP]) {
      await page.setViewportSize(viewport)
      await settle(page)
      for (const state of await page.evaluate<string[]>(STATES)) states.add(state)
      // A mission and a session also have verdicts and outcomes, which are no states.
      if (!framed.includes(address) || address.path.startsWith('/missions/')) continue
      for (const other of await page.evaluate<string[]>(OTHER_STATES))
        others.push(`${address.path}: ${other}`)
    }
  }
  expect(Object.keys(heads), JSON.stringify(heads, null, 2)).toHaveLength(1)
  expect([...states]).toEqual([JSON.stringify({ mark: '8,8', gap: '8px', isSentence: true })])
  expect(others).toEqual([])
  expect(troubles).toEqual([])
})

test('on a phone and on a tablet every table keeps its words whole, and nothing lies outside the window', async () => {
  const { page, troubles, framed, views, load } = await begin()
  const faults: string[] = []
  for (const address of [...framed, ...views]) {
    await page.setViewportSize(PHONE)
    await load(address)
    for (const viewport of [PHONE, TABLET]) {
      await page.setViewportSize(viewport)
      await settle(page)
      const where = `${address.path}, ${viewport.width} px`
      for (const outside of await page.evaluate<string[]>(OUTSIDE)) faults.push(`${where}: ${outside}`)
      for (const word of await page.evaluate<string[]>(BROKEN)) faults.push(`${where}: ${word} is broken`)
    }
  }
  expect(faults, faults.join('\n')).toEqual([])
  expect(troubles).toEqual([])
})

/** Goes through the tab stops from an element on, and returns those that the ring does not show. */
async function tabThrough(page: Page, from: string): Promise<{ stops: number; faults: string[] }> {
  await page.evaluate(`(() => {
    const start = document.querySelector('${from}')
    start.tabIndex = -1
    start.focus()
  })()`)
  const seen = new Set<number>()
  const faults: string[] = []
  for (let presses = 0; presses < MAX_STOPS; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<Focused | null>(FOCUSED)
    if (focused === null || seen.has(focused.element)) break
    seen.add(focused.element)
    faults.push(...focused.faults.map(fault => `${focused.name}: ${fault}`))
  }
  return { stops: seen.size, faults }
}

test('every control that the keyboard reaches has the one focus ring, in both themes, on every page', async () => {
  const { page, troubles, framed, views, working, load } = await begin()
  const home = { path: '/', ready: '[data-testid="home-task"]' }
  const faults = new Set<string>()
  for (const address of [home, ...framed, ...views]) {
    await load(address)
    // The navigation is the same on each page.
    const { stops, faults: found } = await tabThrough(page, address === home ? 'body' : 'main')
    expect(stops, address.path).toBeGreaterThan(0)
    for (const fault of found) faults.add(`${address.path}: ${fault}`)
  }
  expect([...faults], [...faults].join('\n')).toEqual([])

  // An entry of a menu that the arrow keys reach.
  await page.getByTestId('account').focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem').first().waitFor()
  await page.keyboard.press('ArrowDown')
  const entry = await page.evaluate<Focused | null>(FOCUSED)
  expect(entry).toMatchObject({ name: expect.stringContaining('menu-item'), faults: [] })
  await page.keyboard.press('Escape')

  // A rail that an address opens does not take the focus.
  await load({ path: `/sessions/${working}?rail=changes`, ready: '[data-testid="changed-file"]' })
  expect(
    await page.evaluate<boolean>(
      `document.querySelector('[data-testid="rail"]').contains(document.activeElement)`,
    ),
  ).toBe(false)
  expect(troubles).toEqual([])
})
