/**
 * Long code, long words, wide tables and long sentences in every list, card and menu, on a phone and on a
 * wide screen: nothing lies outside the window, and no word of a table is broken.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { itemRow, openItem } from './inbox.ts'
import { DESKTOP, openBrowser, openPage, PHONE } from './browser.ts'
import { BROKEN, OUTSIDE } from './layout.ts'
import { placeOfLongTexts, writeLongSettings, writeLongTexts } from './long-texts.ts'
import { startService } from './server.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)

test('long texts leave every button in the window and every word of a table whole', async () => {
  const server = await startService(placeOfLongTexts())
  const texts = await writeLongTexts(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const faults: string[] = []
  const look = async (name: string) => {
    for (const [size, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
      await page.setViewportSize(viewport)
      await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
      for (const outside of await page.evaluate<string[]>(OUTSIDE))
        faults.push(`${name}, ${size}: ${outside}`)
      for (const word of await page.evaluate<string[]>(BROKEN))
        faults.push(`${name}, ${size}: the word ${word} is broken`)
    }
  }
  const load = async (path: string, ready: string) => {
    await page.goto(server.url + path)
    await page.locator(ready).first().waitFor()
  }

  await load('/', '[data-testid="need"]')
  await look('home')
  for (const section of ['needs', 'recent', 'next']) await by(page, `home-${section}`).waitFor()
  await by(page, 'home-mission').click()
  await look('home, a mission')
  await page.setViewportSize({ width: 1024, height: 768 })
  expect(await page.evaluate<string[]>(OUTSIDE)).toEqual([])
  await load('/sessions', '[data-testid="session-item"]')
  await look('sessions')
  await by(page, 'session-filters').click()
  await page.locator('.filters').waitFor()
  await look('filters')
  await by(page, 'session-search').fill('incomprehensibilities')
  await page.locator('[data-testid="session-item"], [data-testid="sessions-note"]').first().waitFor()
  await look('search')

  await load(`/sessions/${texts.working}`, '[data-testid="answer"][data-final] .table')
  await look('chat')
  for (const group of await by(page, 'tool-group').all()) await group.locator('summary').first().click()
  for (const tool of ['terminal', 'write_file', 'edit_file'])
    await by(page, 'tool-card', `[data-tool="${tool}"]`).first().locator('summary').first().click()
  await look('open calls')
  await by(page, 'session-menu').first().click()
  await page.getByRole('menu').waitFor()
  await look('session menu')
  await page.keyboard.press('Escape')
  for (const rail of ['plan', 'changes', 'files', 'artifacts', 'timeline']) {
    await load(`/sessions/${texts.working}?rail=${rail}`, '[data-testid="rail"]')
    await look(`rail, ${rail}`)
  }
  await load(`/sessions/${texts.working}/events`, '[data-testid="event-grid"]')
  await look('events')
  await load(`/sessions/${texts.working}/run`, '[data-testid="run"][data-ready]')
  await look('run')
  for (const tool of ['Run', 'Write', 'Edit']) {
    await page.setViewportSize(DESKTOP)
    await by(page, 'run-row').filter({ hasText: tool }).first().click()
    await by(page, 'framed-step').waitFor()
    await look(`run, ${tool}`)
  }
  await page.setViewportSize(DESKTOP)
  await by(page, 'reading-tab-details').click()
  await look('run, details')
  await page.setViewportSize(DESKTOP)
  await by(page, 'reading-tab-events').click()
  await look('run, events')
  await load(`/sessions/${texts.working}/workers`, '[data-testid="worker-row"]')
  await look('workers')
  await load(`/sessions/${texts.asking}`, '[data-testid="question-card"]')
  await look('question')
  await load(`/sessions/${texts.acting}`, '[data-testid="action-card"]')
  await look('action')
  await load(`/sessions/${texts.gated}`, '[data-testid="approval-card"]')
  await look('approval')

  await load('/inbox', '[data-testid="inbox-row"]')
  await look('inbox')
  for (const row of await itemRow(page, {}).all()) {
    const kind = (await row.getAttribute('data-kind')) ?? ''
    await row.getByRole('button').last().click()
    await by(page, 'inbox-item', `[data-kind="${kind}"]`).waitFor()
    await look(`inbox, ${kind}`)
    const back = page.getByRole('button', { name: 'Back to the inbox' })
    if (await back.isVisible()) await back.click()
  }
  await load('/inbox?tab=news', '[data-testid="inbox-row"]')
  await openItem(page, { kind: 'task_complete' })
  await by(page, 'inbox-item', '[data-kind="task_complete"]').locator('.table').first().waitFor()
  await look('inbox, news')
  await load('/inbox?tab=decided', '.inbox-scroll')
  await look('inbox, decided')
  await load('/missions', '[data-testid="mission-entry"]')
  await look('missions')
  await load(`/missions/${texts.mission}`, '[data-testid="mission"]')
  await look('mission')
  await load('/schedules', '[data-testid="schedule"]')
  await by(page, 'new-schedule').click()
  await look('schedules')
  for (const path of ['/notices', '/admin/users', '/admin/accounts', '/admin/usage', '/admin/health']) {
    await load(path, 'main h1')
    await look(path)
  }

  await writeLongSettings(server.client)
  for (const path of ['', '/long', '/-/models', '/-/mcp-servers', '/-/skills', '/-/experts', '/-/changes']) {
    await load(`/agents${path}`, '.agents-scroll :is(h2, .list)')
    await look(`/agents${path}`)
  }
  await load('/agents/long', '[data-testid="edit-agent"]')
  await by(page, 'edit-agent').click()
  await by(page, 'agent-editor').waitFor()
  await look('agent editor')
  await by(page, 'discard').click()

  // The menus and dialogs of the frame, on the widest and the narrowest screen that has their buttons.
  await page.setViewportSize(DESKTOP)
  await load('/sessions', '[data-testid="session-item"]')
  await by(page, 'account').click()
  await page.getByRole('menu').waitFor()
  const width = `document.querySelector('.popover').getBoundingClientRect().width`
  expect(await page.evaluate<number>(width)).toBeLessThanOrEqual(320)
  await look('account menu')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await by(page, 'palette-option').first().waitFor()
  await look('palette')
  expect(faults, faults.join('\n')).toEqual([])
  expect(troubles.filter(trouble => !/404/.test(trouble))).toEqual([])
})
