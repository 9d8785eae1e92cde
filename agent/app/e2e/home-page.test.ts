/** The first page in a real Chromium: the first day, a day in use, a mission, and a phone. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, PHONE, takePictures } from './browser.ts'
import { by, POLL, sessionIn } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

const call = (name: string, args: object) => ({ name, arguments: args })
const steps = (...calls: object[]) => ({ tool_calls: calls })
const scenario = {
  pace_ms: 0,
  rules: [
    {
      when: { schema: 'outcome_verdict' },
      answer: { json: { result: 'satisfied', explanation: 'Done', feedback: '' } },
    },
    {
      when: { user: '^which' },
      answer: steps(
        call('ask_user_question', {
          questions: [
            { prompt: 'Which customers count as active: 30 or 90 days?', choices: [{ label: '30' }] },
          ],
        }),
      ),
    },
    {
      when: { user: '^log in' },
      answer: steps(
        call('request_user_action', {
          title: 'Log in to the package registry',
          instructions: '1. Log in.',
          reason: 'Publishing needs a code.',
          context: 'Publishing.',
          action_type: 'login',
          target: 'https://registry.example.org',
        }),
      ),
    },
    {
      when: { user: '^edit' },
      answer: steps(
        ...['commit.ts', 'reader.ts', 'cursor.ts'].map(name =>
          call('write_file', { path: `src/import/${name}`, content: 'export {}\n' }),
        ),
      ),
    },
    { when: { user: '^sync' }, answer: { error: { status: 401, message: 'invalid x-api-key' } } },
    { when: { user: '^nightly' }, answer: { error: { status: 400, message: 'no' } } },
    { when: { user: '^wait' }, answer: { text: 'Measuring the new parser', hang: true } },
    {
      when: { user: '^compare' },
      steps: [
        steps(call('terminal', { command: 'sleep 0.4' }), call('read_file', { path: 'gone.md' })),
        { text: 'The first one is the fastest.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}
const config = {
  models: {
    default: 'test/scripted',
    providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
    catalog: { 'test/scripted': { input: 3, output: 15, context_window: 100_000 } },
  },
  agents: {
    assistant: {
      description: 'General work on files',
      governance: { require_approval: ['write_file'] },
    },
    analyst: { description: 'Numbers and reports' },
  },
}

const atHome = (url: URL): boolean => url.pathname === '/'

/** Promise 4.15: On the first day the page says what the product is for, and a first task starts a session. */
test('on the first day a task starts a session, and no empty session is left behind', async () => {
  const server = await startService(makePlace())
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(atHome)
  await page.getByRole('heading', { level: 1, name: 'Give an agent something to do' }).waitFor()
  await page.locator('[data-testid="home-task"]:focus').waitFor()
  for (const start of ['home-tour', 'home-connect', 'home-files']) await by(page, start).waitFor()
  await takePictures(page, 'home-first')
  await by(page, 'home-connect').click()
  await by(page, 'connect-example').waitFor()
  await page.keyboard.press('Escape')

  // New session only leads here: a session exists from its first message on.
  await page.goto(`${server.url}/sessions`)
  await page.getByText('No sessions yet').waitFor()
  await page.keyboard.press('c')
  await page.waitForURL(atHome)
  await page.locator('[data-testid="home-task"]:focus').waitFor()
  expect((await server.client.call('listSessions', { query: {} })).sessions).toEqual([])

  await by(page, 'home-task').fill('help')
  await by(page, 'home-task').press('Enter')
  await page.waitForURL('**/sessions/*')
  await by(page, 'user-message').getByText('help').waitFor()
  expect((await server.client.call('listSessions', { query: {} })).sessions).toHaveLength(1)
  expect(troubles).toEqual([])
})

async function fill({ client }: Awaited<ReturnType<typeof startService>>) {
  const titled = async (title: string): Promise<string> =>
    (await client.call('createSession', { body: { title } })).id
  const start = async (title: string, text: string, type: Parameters<typeof isType>[0]): Promise<string> => {
    const id = await titled(title)
    await say(client, id, text)
    await waitFor(client, id, 0, isType(type))
    return id
  }
  const done = await titled('Compare three vector stores')
  await runTurn(client, done, 'compare three vector stores')
  const failed = await start('Nightly backup check', 'nightly backup check', 'session.fail')
  const refused = await start('Sync of the product feed', 'sync the feed', 'session.fail')
  const asking = await start('Weekly churn report', 'which customers', 'inbox.input_required')
  const acting = await start('Renew the registry token', 'log in to it', 'inbox.action_required')
  const gated = await titled('Importer stalls on large CSV files')
  await runTurn(client, gated, 'edit the importer')
  const running = await start('Measure the new parser', 'wait for it', 'llm.request')
  await client.call('createSchedule', {
    body: { session_id: done, name: 'Weekly churn report', prompt: 'go', every_s: 1740 },
  })
  return { done, failed, refused, asking, acting, gated, running }
}

const row = (page: Page, section: string, id: string) =>
  by(page, `home-${section}`).locator(`[data-session-id="${id}"]`)

test('a day in use: needs, running, failed with its cure, spend, recent and next; changes come live', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { page, troubles } = await openPage(await openBrowser())
  const made = await fill(server)
  await page.goto(server.loginUrl)
  await page.waitForURL(atHome)
  const { items } = await server.client.call('listInbox', { query: { status: 'pending' } })
  const gates = items.filter(({ kind }) => kind === 'governance_gate').length
  const count = ['Three', 'Four', 'Five'][gates - 1]
  await by(page, 'greeting').getByText(`${count} things need you.`).waitFor()

  // Calls of one family in one session are one row; the button opens the session and decides nothing.
  await expect.poll(() => by(page, 'need').count(), POLL).toBe(3)
  const approvals = by(page, 'need').filter({ hasText: 'Approval' })
  expect(await approvals.textContent()).toContain(gates === 1 ? 'Write' : `Edit ${gates} files`)
  await by(page, 'need').filter({ hasText: 'Which customers count as active' }).getByText('Answer').waitFor()
  await row(page, 'running', made.running).getByText('Measure the new parser').waitFor()
  await row(page, 'recent', made.done).getByText('Compare three vector stores').waitFor()
  // The picture of the session, in words too.
  const strip = row(page, 'recent', made.done).locator('[data-testid="strip"]')
  await expect.poll(() => strip.getAttribute('aria-label'), POLL).toMatch(/tools \d+ %/)
  await by(page, 'home-spend').getByText('$').waitFor()
  await by(page, 'home-next').getByText('in 29 min').waitFor()

  const refused = row(page, 'failed', made.refused).or(
    by(page, 'failed-session').and(page.locator(`[data-session-id="${made.refused}"]`)),
  )
  await refused.getByText('Provider rejected the key').waitFor()
  expect(await refused.getByText('Fix key').getAttribute('href')).toBe('/agents')
  await page.locator('h1').click()
  await takePictures(page, 'home', async () => {
    await by(page, 'home-failed').waitFor()
  })

  // A retry is asked for here, and its end is shown without a reload.
  const before = (await readLog(server.client, made.failed)).at(-1)?.id ?? 0
  await by(page, 'failed-session').filter({ hasText: 'Nightly' }).getByText('Retry').click()
  await waitFor(server.client, made.failed, before, isType('session.fail'))

  // A decision made elsewhere changes the number without a reload.
  await server.client.call('stopSession', { params: { id: made.asking } })
  await expect.poll(() => by(page, 'need').count(), POLL).toBe(2)
  await approvals.getByText('Review').click()
  await page.waitForURL(`**/sessions/${made.gated}`)
  expect(troubles).toEqual([])
})

test('a task can be given to another agent, and as a mission with criteria', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(atHome)
  await by(page, 'pick-agent').click()
  await page.getByRole('menuitem', { name: 'analyst' }).getByText('Numbers and reports').waitFor()
  await page.getByRole('menuitem', { name: 'analyst' }).click()
  await by(page, 'home-task').fill('hello')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/sessions/*')
  const { agent } = await server.client.call('getSession', { params: { id: sessionIn(page) } })
  expect(agent).toBe('analyst')

  await page.keyboard.press('Control+k')
  await by(page, 'palette-input').fill('start mission')
  await page.keyboard.press('Enter')
  await page.waitForURL(atHome)
  await by(page, 'home-task').fill('Write a report')
  expect(await by(page, 'home-start').isDisabled(), 'a mission needs criteria').toBe(true)
  await by(page, 'home-criteria').fill('There is a report')
  await by(page, 'home-start').click()
  await page.waitForURL('**/sessions/*')
  const { missions } = await server.client.call('listMissions', { query: {} })
  expect(missions).toMatchObject([{ description: 'Write a report', session_id: sessionIn(page) }])
  expect(troubles).toEqual([])
})

test('the navigation folds with [ and stays folded, and a phone has a bar with More', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const id = await newSession(server.client)
  await say(server.client, id, 'which customers')
  await waitFor(server.client, id, 0, isType('inbox.input_required'))
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(atHome)
  await by(page, 'greeting').click()
  const width = () => page.evaluate<number>(`document.querySelector('.sidebar').offsetWidth`)
  await expect.poll(width, POLL).toBe(232)
  await by(page, 'recent-session').waitFor()
  await page.keyboard.press('[')
  await expect.poll(width, POLL).toBe(52)
  await page.reload()
  await by(page, 'greeting').click()
  await expect.poll(width, POLL).toBe(52)
  await page.getByRole('link', { name: 'Missions' }).waitFor()
  await page.keyboard.press('[')
  await expect.poll(width, POLL).toBe(232)
  await page.setViewportSize({ width: 1100, height: 800 })
  await expect.poll(width, POLL).toBe(52)

  await page.setViewportSize(PHONE)
  const tabs = page.getByRole('navigation', { name: 'Main' })
  await expect
    .poll(() => tabs.locator('.nav-label').allTextContents(), POLL)
    .toEqual(['Home', 'Inbox', 'Sessions', 'Missions', 'More'])
  await expect.poll(() => by(page, 'inbox-count').textContent(), POLL).toBe('1')
  // In a session the bar makes room for the composer, and the way back carries the count.
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'question-card').waitFor()
  expect(await tabs.isVisible()).toBe(false)
  await page.locator('.back .badge.count').getByText('1').waitFor()
  await page.goto(server.url)
  await by(page, 'nav-more').click()
  for (const name of ['Schedules', 'Agents', 'Usage', 'Settings', 'Log out'])
    await page.getByRole('menuitem', { name }).waitFor()
  await page.getByRole('menuitem', { name: 'Schedules' }).click()
  await page.waitForURL('**/schedules')
  expect(troubles).toEqual([])
})
