/** The Run view in a real Chromium: keys, selection and address, workers, live growth, and a killed runner. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@cairn/log/test/free-port'
import type { CairnClient } from '@cairn/client'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, PHONE, takePictures } from './browser.ts'
import { by, POLL } from './page-session.ts'
import { makePlace, type ServerDirs, startServer, startService } from './server.ts'
import { isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

const call = (name: string, args: object) => ({ name, arguments: args })
const steps = (...calls: object[]) => ({ tool_calls: calls })
/** Runs until the test creates the file. */
const hold = (file: string) => call('terminal', { command: `until [ -e ${file} ]; do sleep 0.1; done` })

const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'A run' } },
    {
      when: { user: 'Goal:\\s+Count' },
      steps: [steps(call('list_files', { path: '.' })), { text: 'There are five.' }],
    },
    {
      when: { user: '^Work' },
      steps: [
        steps(
          call('write_file', { path: 'a.txt', content: 'one\n' }),
          ...['a.txt', 'b.txt', 'c.txt'].map(path => call('read_file', { path })),
        ),
        steps(call('terminal', { command: 'echo broken; exit 3' })),
        steps(call('terminal', { command: 'exit 4' })),
        steps(call('spawn_worker', { goal: 'Count the lines of a.txt' }), call('wait_for_workers', {})),
        { text: 'The **lines** are counted.' },
      ],
    },
    { when: { user: '^Hold' }, steps: [steps(hold('go')), { text: 'Held.' }] },
    {
      when: { user: '^Ask' },
      steps: [
        steps(
          call('ask_user_question', {
            questions: [{ prompt: 'Which way?', choices: [{ label: 'left' }, { label: 'right' }] }],
          }),
        ),
        { text: 'Left, then.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

const rows = (page: Page, text: string) => by(page, 'run-row').filter({ hasText: text })
const selected = (page: Page): Promise<string> =>
  page
    .locator('[data-testid="run-row"][aria-selected="true"]')
    .first()
    .getAttribute('aria-label')
    .then(label => label ?? '')
const addressOf = (page: Page): URLSearchParams => new URL(page.url()).searchParams

async function openRun(page: Page, url: string, id: string, query = ''): Promise<void> {
  await page.goto(`${url}/sessions/${id}/run${query}`)
  await page.locator('[data-testid="run"][data-ready]').waitFor()
}

/** A session with a turn that read files, failed twice, and had a worker. */
async function worked(client: CairnClient): Promise<string> {
  const id = await newSession(client)
  await runTurn(client, id, 'Work on it')
  return id
}

async function eventOf(client: CairnClient, id: string, command: string): Promise<number> {
  const log = await readLog(client, id)
  const found = log.find(event => event.type === 'tool.call' && event.data.arguments['command'] === command)
  return found?.id ?? 0
}

async function logIn(page: Page, loginUrl: string): Promise<void> {
  await page.goto(loginUrl)
  await page.waitForURL(url => url.pathname === '/')
}

test('the keys select steps, the address names the selected one, and its link leads back to it', async () => {
  const server = await startService(makePlace({ scenario }))
  const id = await worked(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await logIn(page, server.loginUrl)
  await openRun(page, server.url, id)
  expect(await page.evaluate(`document.activeElement?.dataset.testid`)).toBe('run-grid')
  // The run needs the width: the navigation shows its icons only.
  expect(await page.locator('.shell[data-folded]').count()).toBe(1)
  const broken = await eventOf(server.client, id, 'echo broken; exit 3')

  await page.keyboard.press('n')
  await expect
    .poll(() => selected(page), POLL)
    .toMatch(/^Run echo broken; exit 3, failed, exit 3, .*starts at/)
  await expect.poll(() => addressOf(page).get('at'), POLL).toBe(String(broken))
  await page.keyboard.press('n')
  await expect.poll(() => selected(page), POLL).toMatch(/^Run exit 4, failed, exit 4/)
  await page.keyboard.press('p')
  await expect.poll(() => selected(page), POLL).toMatch(/^Run echo broken/)

  // The reading follows the selection, and the selection the reading.
  await by(page, 'framed-step').getByText('broken').first().waitFor()
  await page.keyboard.press('e')
  await by(page, 'reading-events').waitFor()
  const result = (await readLog(server.client, id)).find(
    event => event.id > broken && event.type === 'tool.result',
  )!
  await by(page, 'reading-event').filter({ hasText: 'tool.result' }).last().click()
  await expect.poll(() => addressOf(page).get('at'), POLL).not.toBe(String(broken))
  await page.keyboard.press('Escape')
  await page.keyboard.press('e')
  await by(page, 'reading-details').getByText('failed').first().waitFor()

  // A link to the end of the call selects the call.
  await openRun(page, server.url, id, `?at=${result.id}`)
  await expect.poll(() => selected(page), POLL).toMatch(/^Run echo broken/)
  await page.keyboard.press('j')
  await expect.poll(() => selected(page), POLL).toMatch(/^Model/)
  await page.keyboard.press('Home')
  await expect.poll(() => selected(page), POLL).toMatch(/^Turn 1 Work on it/)
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => by(page, 'run-row').count(), POLL).toBe(1)
  await page.keyboard.press('ArrowRight')
  await rows(page, 'Read').first().waitFor()
  expect(troubles).toEqual([])
})

test('calls of one kind are one row that opens, and a worker shows the steps of its own log', async () => {
  const server = await startService(makePlace({ scenario }))
  const id = await worked(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await logIn(page, server.loginUrl)
  await openRun(page, server.url, id)
  const group = rows(page, 'Read 3 files')
  expect(await group.getAttribute('aria-label')).toContain('2 not found')
  await group.locator('[data-twisty]').click()
  await page.locator('[data-testid="run-row"][aria-level="3"]').filter({ hasText: 'b.txt' }).waitFor()
  const worker = rows(page, 'Count the lines')
  expect(await worker.getAttribute('aria-expanded')).toBe('false')
  await worker.locator('[data-twisty]').click()
  const step = page.locator('[data-testid="run-row"][aria-level="3"]').filter({ hasText: 'List' })
  await step.click()
  await expect.poll(() => addressOf(page).get('of'), POLL).not.toBeNull()
  await by(page, 'framed-step').getByText('List').first().waitFor()
  // The address leads to the step of the worker again.
  await page.reload()
  await expect.poll(() => selected(page), POLL).toMatch(/^List/)
  expect(troubles).toEqual([])
})

test('the filter, the time mode and the zoom change what is drawn', async () => {
  const server = await startService(makePlace({ scenario }))
  const id = await worked(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await logIn(page, server.loginUrl)
  await openRun(page, server.url, id)
  const all = await by(page, 'run-row').count()
  await page.keyboard.press('/')
  await page.keyboard.type('exit')
  await expect.poll(() => by(page, 'run-row').count(), POLL).toBe(3)
  await page.keyboard.press('Escape')
  await by(page, 'run-clear').click()
  await expect.poll(() => by(page, 'run-row').count(), POLL).toBe(all)
  await by(page, 'run-failures').click()
  await expect.poll(() => by(page, 'run-row').count(), POLL).toBe(3)
  await by(page, 'run-clear').click()

  await page.keyboard.press('t')
  await by(page, 'run-time-mode').getByText('Clock time').waitFor()
  const port = `getComputedStyle(document.querySelector('.run-axis-lane')).getPropertyValue('--w')`
  const whole = Number(await page.evaluate(port))
  await page.keyboard.press('+')
  await expect.poll(async () => Number(await page.evaluate(port)) < whole, POLL).toBe(true)
  await expect.poll(() => addressOf(page).has('to'), POLL).toBe(true)
  await page.reload()
  await expect.poll(async () => Number(await page.evaluate(port)) < whole, POLL).toBe(true)
  await page.keyboard.press('0')
  await expect.poll(() => addressOf(page).has('to'), POLL).toBe(false)
  await rows(page, 'echo broken').click()
  await page.keyboard.press('z')
  await expect.poll(async () => Number(await page.evaluate(port)) < whole, POLL).toBe(true)
  await by(page, 'run-brush').focus()
  await page.keyboard.press('End')
  const end = `(() => { const style = getComputedStyle(document.querySelector('.run-axis-lane'))
    return Number(style.getPropertyValue('--o')) + Number(style.getPropertyValue('--w')) -
      Number(style.getPropertyValue('--now')) })()`
  await expect.poll(async () => Math.abs(Number(await page.evaluate(end))) < 1, POLL).toBe(true)
  expect(troubles).toEqual([])
})

test('a running step grows, and new rows appear while the view follows', async () => {
  const place = makePlace({ scenario })
  const server = await startService(place)
  const id = await newSession(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await logIn(page, server.loginUrl)
  await page.goto(`${server.url}/sessions/${id}/run`)
  await by(page, 'run-empty').waitFor()
  await say(server.client, id, 'Hold on')
  const held = rows(page, 'until')
  await held.waitFor()
  expect(await held.getAttribute('aria-label')).toContain('running')
  const bar = `document.querySelector('.run-row:last-child .run-bar[data-running]')?.getBoundingClientRect().right ?? 0`
  const now = `Number(getComputedStyle(document.querySelector('.run-axis-lane')).getPropertyValue('--now'))`
  const before = Number(await page.evaluate(now))
  await expect.poll(async () => Number(await page.evaluate(now)) > before + 500, POLL).toBe(true)
  expect(Number(await page.evaluate(bar))).toBeGreaterThan(0)
  await by(page, 'run-follow').getByText('Following').waitFor()
  await held.click()
  await by(page, 'run-follow').getByText('Follow', { exact: true }).waitFor()
  release(place, id, 'go')
  await by(page, 'run-follow').waitFor({ state: 'detached' })
  await expect.poll(() => held.getAttribute('aria-label'), POLL).not.toContain('running')
  expect(troubles).toEqual([])
})

const release = (place: ServerDirs, id: string, file: string): void =>
  writeFileSync(join(place.workspaces, id, file), '')

test('a killed runner leaves a gap, and a question a wait, in the run that the page keeps drawing', async () => {
  const place = makePlace({ scenario })
  place.env['PORT'] = String(await freePort())
  const first = await startServer(place)
  const { page } = await openPage(await openBrowser())
  await logIn(page, first.loginUrl)
  const id = await newSession(first.client)
  await say(first.client, id, 'Hold on')
  await page.goto(`${first.url}/sessions/${id}/run`)
  await rows(page, 'until').waitFor()
  await first.kill()
  await by(page, 'connection', '[data-state="reconnecting"]').waitFor()
  await page.locator('.run-now-label[data-known="false"]').waitFor()
  const second = await startServer(place)
  await waitFor(second.client, id, 0, isType('harness.recovered'))
  const gap = rows(page, 'No runner')
  await gap.waitFor()
  expect(await gap.getAttribute('aria-label')).toContain('recovered after')
  const cut = page.locator('.run-bar[data-kind="gap"]')
  await cut.waitFor()
  await waitFor(second.client, id, 0, isType('session.complete'))
  await say(second.client, id, 'Ask me')
  const wait = rows(page, 'Question')
  await wait.waitFor()
  expect(await wait.getAttribute('data-kind')).toBe('wait')
  await page.locator('.run-bar[data-kind="wait"][data-running]').waitFor()
})

/** Two fingers on the minimap that move apart. */
async function pinchMinimap(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { x, y, width, height } = (await by(page, 'run-minimap').boundingBox())!
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', apart: number) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints:
        type === 'touchEnd'
          ? []
          : [-1, 1].map(side => ({
              x: x + width / 2 + (side * apart) / 2,
              y: y + height / 2,
              id: side + 1,
            })),
    })
  await touch('touchStart', 60)
  for (const apart of [80, 100, 120, 140]) await touch('touchMove', apart)
  await touch('touchEnd', 0)
}

test('the Run view has no axe violation, and reads as a sheet on a phone', async () => {
  const server = await startService(makePlace({ scenario }))
  const id = await worked(server.client)
  const { page, troubles } = await openPage(await openBrowser())
  await logIn(page, server.loginUrl)
  await openRun(page, server.url, id, `?at=${await eventOf(server.client, id, 'exit 4')}`)
  await by(page, 'framed-step').waitFor()
  const found: string[] = []
  for (const reading of ['chat', 'events', 'details']) {
    await by(page, `reading-tab-${reading}`).click()
    found.push(...(await lookWithAxe(page, `run: ${reading}`)))
  }
  expect(found, found.join('\n')).toEqual([])
  await by(page, 'reading-tab-chat').click()
  await takePictures(page, 'run', async () => {
    await rows(page, 'exit 4').click()
    const pane = await by(page, 'reading-pane').boundingBox()
    expect(pane?.width).toBe(PHONE.width)
    expect(pane?.y).toBeGreaterThan(100)
    await page.keyboard.press('Escape')
    await pinchMinimap(page)
    const zoomed = `(() => { const style = getComputedStyle(document.querySelector('.run-lane'))
      return Number(style.getPropertyValue('--w')) < 0.7 * Number(style.getPropertyValue('--now')) })()`
    await expect.poll(() => page.evaluate(zoomed), POLL).toBe(true)
    const sideways = `document.scrollingElement.scrollWidth > innerWidth`
    expect(await page.evaluate(sideways)).toBe(false)
  })
  expect(troubles).toEqual([])
})
