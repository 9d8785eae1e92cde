/**
 * How a session reads: the newest message is in view, long lines scroll in their container, and arguments are
 * shown as text, not as JSON.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { DESKTOP, openBrowser, openPage, PHONE } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { newSession, runTurn } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const LONG = 'a line that is longer than any panel beside a chat is wide, '.repeat(4)
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { user: '^talk' }, answer: { text: 'One more paragraph.\n\n'.repeat(60) } },
    { when: { user: 'Goal:\\s+Wait' }, answer: { text: 'Counting.', hang: true } },
    {
      when: { user: '^plan' },
      steps: [
        {
          tool_calls: [
            { name: 'todo', arguments: { todos: [{ id: 'a', content: LONG, status: 'in_progress' }] } },
            { name: 'share_note', arguments: { notes: [{ type: 'FACT', content: LONG }] } },
            { name: 'spawn_worker', arguments: { goal: 'Wait for it' } },
          ],
        },
        { text: 'One more paragraph.\n\n'.repeat(60) },
      ],
    },
    {
      when: { user: '^work' },
      steps: [
        call('write_file', { path: 'notes.md', content: `${LONG}\n` }),
        call('schedule_create', { prompt: 'Say it\nmax_runs: 9', every_s: 60, name: '60', max_runs: 2 }),
        { text: 'It waits for you.' },
      ],
    },
  ],
}

async function begin() {
  const server = await startService(makePlace({ scenario }))
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  return { ...server, page, troubles, id: await newSession(server.client) }
}

test('a card that changes height keeps the chat at its end; a reader who scrolls up leaves it', async () => {
  const { page, client, url, id } = await begin()
  await runTurn(client, id, 'talk')
  await page.goto(`${url}/sessions/${id}`)
  await by(page, 'answer').last().waitFor()
  const newest = page.getByRole('button', { name: 'Jump to latest' })
  const fromEnd = `(() => { const { scrollHeight, scrollTop, clientHeight } =
    document.querySelector('.chat-scroll'); return scrollHeight - scrollTop - clientHeight })()`
  await expect.poll(() => page.evaluate<number>(fromEnd)).toBeLessThan(2)
  // Like an approval that is decided: it loses its buttons, and the turn continues at the same moment.
  await page.evaluate(`new Promise(done => {
    const card = document.createElement('div')
    document.querySelector('[data-testid="chat-content"]').append(card)
    card.style.height = '400px'
    const frames = (n, then) => requestAnimationFrame(() => (n === 0 ? then() : frames(n - 1, then)))
    // The scroll event arrives before the resize. A browser may send it later, when the position is right
    // again.
    frames(3, () => setTimeout(() => {
      const box = document.querySelector('.chat-scroll')
      card.style.height = '0px'
      box.scrollTop
      card.style.height = '900px'
      box.dispatchEvent(new Event('scroll'))
      frames(5, done)
    }))
  })`)
  expect(await page.evaluate<number>(fromEnd)).toBeLessThan(2)
  expect(await newest.count()).toBe(0)
  await page.locator('.chat-scroll').hover()
  // Chromium drops or takes back a turn of the wheel while it still commits a scroll of the page. A reader
  // turns it again.
  const scrollUp = async () => {
    await page.mouse.wheel(0, -500)
    await newest.waitFor({ timeout: 2000 })
    await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
    return await page.evaluate<number>(fromEnd)
  }
  await expect.poll(() => scrollUp().catch(() => 0)).toBeGreaterThan(495)
  await newest.waitFor()
  // Switching tabs and back restores the reading position.
  const place = await page.evaluate<number>(fromEnd)
  await by(page, 'tab-events').click()
  await by(page, 'event-grid').waitFor()
  await by(page, 'tab-chat').click()
  await newest.waitFor()
  await expect.poll(async () => Math.abs((await page.evaluate<number>(fromEnd)) - place)).toBeLessThan(6)
})

/** Finds the elements that cover the chat, and whether its last answer and the composer are visible. */
const COVERED = `(() => {
  const scroller = document.querySelector('.chat-scroll')
  const { left, right, top, bottom } = scroller.getBoundingClientRect()
  const covers = new Set()
  for (let y = top + 1; y < bottom; y += 8)
    for (const x of [left + 12, (left + right) / 2, right - 24]) {
      const drawn = document.elementFromPoint(x, y)
      if (drawn === null || drawn.closest('.tail-button') !== null) continue
      if (!scroller.contains(drawn)) covers.add(drawn.className)
      for (let at = drawn; at !== scroller && at !== null; at = at.parentElement)
        if (['sticky', 'fixed'].includes(getComputedStyle(at).position)) covers.add(at.className)
    }
  const last = [...scroller.querySelectorAll('[data-testid="answer"]')].at(-1).getBoundingClientRect()
  const composer = document.querySelector('[data-testid="composer"]').getBoundingClientRect()
  return {
    covers: [...covers],
    isLastInView: last.bottom <= bottom + 1 && last.bottom > top,
    isComposerInView: composer.top >= bottom && composer.bottom <= innerHeight && composer.right <= innerWidth,
  }
})()`

test('the lines of a plan and of a pause stand between the chat and the composer, and cover neither', async () => {
  const { page, client, url, id } = await begin()
  await runTurn(client, id, 'plan it')
  await client.call('pauseSession', { params: { id } })
  await page.evaluate(`localStorage.setItem('cairn-rail-closed', '1')`)
  for (const viewport of [PHONE, DESKTOP]) {
    await page.setViewportSize(viewport)
    await page.goto(`${url}/sessions/${id}`)
    await by(page, 'answer').last().waitFor()
    for (const strip of ['plan', 'resume']) await by(page, strip).waitFor()
    const clear = { covers: [], isLastInView: true, isComposerInView: true }
    await expect.poll(() => page.evaluate(COVERED)).toEqual(clear)
    // In the middle of the answer, too.
    await page.evaluate(`document.querySelector('.chat-scroll').scrollTop = 300`)
    await expect.poll(() => page.evaluate(COVERED)).toEqual({ ...clear, isLastInView: false })
  }
})

test('long lines scroll within their file; an approval lists its arguments as plain text', async () => {
  const { page, client, url, id, troubles } = await begin()
  await runTurn(client, id, 'work')
  await page.goto(`${url}/sessions/${id}?rail=changes`)
  await by(page, 'changed-file').locator('summary').click()
  await by(page, 'diff').waitFor()
  const wide = `(() => { const body = document.querySelector('.rail-body')
    return body.scrollWidth - body.clientWidth })()`
  expect(await page.evaluate<number>(wide)).toBe(0)
  await by(page, 'rail').getByRole('tab', { name: 'Files' }).click()
  await by(page, 'file-entry').last().click()
  await by(page, 'file-view').waitFor()
  expect(await page.evaluate<number>(wide)).toBe(0)

  // The card of the approval replaces the row of its call.
  await by(page, 'approval-card').getByText('Schedule').waitFor()
  expect(await by(page, 'tool-card', '[data-tool="schedule_create"]').count()).toBe(0)
  const gate = by(page, 'approval-card').locator('.gate-fields')
  await gate.waitFor()
  const rows = () => gate.locator('> div').evaluateAll(PAIRS)
  // A value that could be mistaken for another type is quoted. A multi-line text has its own column.
  expect(await rows()).toEqual([
    ['prompt', 'Say it\nmax_runs: 9'],
    ['every_s', '60'],
    ['name', '"60"'],
    ['max_runs', '2'],
  ])
  const columns = await gate.locator('dt, dd').evaluateAll(LEFTS)
  expect(new Set(columns.filter((_, i) => i % 2 === 0)).size).toBe(1)
  await page.goto(`${url}/inbox`)
  const item = by(page, 'inbox-item', '[data-kind="governance_gate"]')
  await item.getByText('This tool needs your approval').waitFor()
  expect(await item.textContent()).not.toContain('requires human approval')
  expect(troubles).toEqual([])
})

const PAIRS = (rows: { children: Iterable<{ textContent: string | null }> }[]) =>
  rows.map(({ children }) => [...children].map(({ textContent }) => textContent ?? '') as [string, string])
const LEFTS = (cells: { getBoundingClientRect(): { left: number } }[]) =>
  cells.map(cell => cell.getBoundingClientRect().left)
