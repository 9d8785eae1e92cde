/**
 * Checks the main pages against all axe-core rules. `axe-tour.test.ts` covers panels, dialogs and
 * administration.
 */
import { expect, test } from 'vitest'
import { createLooks } from './axe-look.ts'
import { DESKTOP, openBrowser, openPage, PHONE } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, say, waitFor } from './session.ts'

const call = (name: string, args: object) => ({ name, arguments: args })
/**
 * One turn with everything that a chat can show: prose, a plan, a file, a table, a chart, a worker and a
 * question.
 */
const scenario = {
  rules: [
    { when: { user: 'Goal:\\s+Count' }, answer: { text: 'There are five lines.' } },
    {
      when: { user: '^Show' },
      steps: [
        {
          text: 'First a **file**:\n\n- one\n- two\n\n```ts\nconst a = 1\n```',
          tool_calls: [
            call('todo', { todos: [{ id: 'a', content: 'Write a file', status: 'in_progress' }] }),
            call('write_file', { path: 'notes.md', content: 'one\ntwo\n' }),
            call('create_artifact', {
              name: 'Beans',
              spec: { kind: 'table', columns: ['Bean', 'Rows'], rows: [['red', 3]] },
            }),
            call('create_artifact', {
              name: 'Rows',
              spec: {
                kind: 'chart',
                chart: { type: 'bar', labels: ['red'], datasets: [{ label: 'rows', data: [3] }] },
              },
            }),
            call('spawn_worker', { goal: 'Count the lines of notes.md' }),
            call('ask_user_question', {
              questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
            }),
          ],
        },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

/** Promise 4.15: No page violates an axe rule, at three widths, in light and dark. */
test('axe finds no violation on the main pages', async () => {
  const server = await startService(makePlace({ scenario }))
  const { page } = await openPage(await openBrowser())
  const { load, look, found } = createLooks(page, server.url, { oneIn: 3 })
  await load('/login', '[data-testid="login-form"]')
  await look('login')
  // The token is in the fragment: opened from the login page itself, the URL would not load a new page.
  await page.goto('about:blank')
  await page.goto(server.loginUrl)
  await page.getByTestId('home-task').waitFor()
  await look('home on the first day')
  const id = await newSession(server.client)
  await load(`/sessions/${id}`, '[data-testid="composer"]')
  await look('a new session')
  await say(server.client, id, 'Show me what you can do')
  await waitFor(server.client, id, 0, isType('inbox.input_required'))
  await load(`/sessions/${id}`, '[data-testid="question-card"][data-state="open"]')
  await look('chat with a question')
  await page.locator('[data-testid="tool-card"] summary').first().click()
  await look('an open call')
  await load('/sessions', '[data-testid="session-item"]')
  await look('sessions')
  await load('/', '[data-testid="need"]')
  await look('home')
  await load(`/sessions/${id}/events?id=3`, '[data-testid="event-detail"]')
  await look('events with a detail')
  await load(`/sessions/${id}/workers`, '[data-testid="worker-row"]')
  await look('workers')
  await load('/inbox', '[data-testid="inbox-item"]')
  await look('inbox')
  await load('/missions', 'main h1')
  await look('missions')
  await load('/schedules', 'main h1')
  await look('schedules')
  await server.client.call('createChannel', {
    body: {
      name: 'support',
      settings: { platform: 'webhook', callback_url: 'https://example.org/cairn', access: 'linked' },
      secrets: { secret: `whsec_${Buffer.alloc(32).toString('base64')}` },
    },
  })
  await load('/admin/channels', '[data-testid="channel"]')
  await page.getByTestId('new-channel').click()
  await page.getByTestId('channel-form').locator('summary').click()
  await page.getByTestId('channel-test').click()
  await look('channels with a form')
  await load('/docs', 'main h1')
  await look('docs')
  expect(found, found.join('\n')).toEqual([])
})

test('every page has one main landmark and one heading that names it, on a phone too', async () => {
  const server = await startService(makePlace())
  const { page } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.getByTestId('home').waitFor()
  for (const viewport of [DESKTOP, PHONE]) {
    await page.setViewportSize(viewport)
    for (const [path, heading] of [
      ['/', 'Give an agent something to do'],
      ['/sessions', 'Sessions'],
      ['/inbox', 'Inbox'],
    ] as const) {
      await page.goto(server.url + path)
      await page.getByRole('main').getByRole('heading', { level: 1, name: heading }).waitFor()
      expect(await page.getByRole('main').count()).toBe(1)
      await page.getByRole('navigation', { name: 'Main' }).waitFor()
    }
  }
})
