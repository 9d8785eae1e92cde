/**
 * Workers in a real Chromium: cards in the chat, the tree in its tab, a question from a worker, and a stop.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openItem } from './inbox.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { endsTurn, isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
const call = (name: string, args: object) => ({ name, arguments: args })
const goal = (text: string) => ({ user: `Goal:\\s+${text}` })
const OVERRIDE = '\u202E'
const HIDDEN = `Done${OVERRIDE}. <b>The parser</b> takes [all](https://example.org) of it.`

/** Runs until the test has finished its checks or the worker is stopped. */
const hold = (file: string) => call('terminal', { command: `until [ -e ${file} ]; do sleep 0.1; done` })
const ask = call('ask_user_question', {
  questions: [
    {
      prompt: 'Where do the notes go?',
      choices: [
        { label: 'To the wiki', description: 'for all' },
        { label: 'By mail', description: 'to the team' },
      ],
    },
  ],
})
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'A parser, reviewed and told of' } },
    {
      when: goal('Write the parser'),
      answer: { tool_calls: [call('worker_complete', { summary: HIDDEN })] },
    },
    {
      when: goal('Review what there is'),
      steps: [
        {
          tool_calls: [
            call('spawn_worker', { goal: 'Read the tests, all of them, and say which are missing' }),
            call('wait_for_workers', {}),
          ],
        },
        { text: 'Nothing is missing.' },
      ],
    },
    { when: goal('Read the tests'), steps: [{ tool_calls: [hold('enough')] }, { text: 'All are there.' }] },
    { when: goal('Publish'), steps: [{ tool_calls: [ask] }, { text: 'Published.' }] },
    { when: { user: '^\\[Worker' }, answer: { text: 'Noted.' } },
    {
      when: { user: '^wait' },
      steps: [
        { tool_calls: [call('spawn_worker', { goal: 'Publish it first' }), call('wait_for_workers', {})] },
      ],
    },
    {
      when: { user: '^go' },
      steps: [
        {
          text: 'Three workers share this.',
          tool_calls: [
            call('spawn_worker', { goal: 'Write the parser' }),
            call('spawn_worker', { goal: 'Review what there is', role: 'orchestrator' }),
            call('spawn_worker', { goal: 'Publish the notes where they belong' }),
          ],
        },
        { text: 'They are at work.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

/**
 * Promise 4.13: The page shows workers live, links their inbox items to them, and renders their text as plain
 * text.
 */
test('the page shows workers live, links their questions, stops them, and renders their text as text', async () => {
  const server = await startService(makePlace({ scenario }))
  const { client } = server
  const id = await newSession(client)
  await say(client, id, 'go')
  await waitFor(client, id, 0, isType('worker.complete'))
  const workers = async () => (await client.call('sessionWorkers', { params: { id } })).workers
  // From here on, the workers continue only after a person's action.
  await expect
    .poll(
      async () => (await workers()).map(worker => `${worker.goal?.split(' ')[0]} ${worker.state}`).toSorted(),
      POLL,
    )
    .toEqual(['Publish needs_answer', 'Read running', 'Review idle', 'Write done'])

  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  // The list shows root sessions. A root that waits for its workers is marked as such, in its header too.
  const waiting = await newSession(client)
  await say(client, waiting, 'wait for it')
  await by(page, 'recent-session', `[data-session-id="${waiting}"]`).getByLabel('Running, 1 worker').waitFor()
  await page.goto(`${server.url}/sessions/${waiting}`)
  await by(page, 'session-state', '[data-state="idle"]').getByText('Running, 1 worker').waitFor()
  await client.call('archiveSession', { params: { id: waiting } })
  await by(page, 'recent-session', `[data-session-id="${waiting}"]`).waitFor({ state: 'detached' })
  await by(page, 'recent-session', `[data-session-id="${id}"]`).waitFor()
  expect(await by(page, 'recent-session').count()).toBe(1)

  await page.goto(`${server.url}/sessions/${id}`)
  // Its own turn has ended, and it is shown as running as long as its workers are.
  await by(page, 'session-state', '[data-state="done"]').getByText('Running, 2 workers').waitFor()
  expect(await by(page, 'session-state').locator('.dot').getAttribute('data-state')).toBe('running')
  const done = by(page, 'worker-card', '[data-status="complete"]')
  await done.waitFor()
  await done.locator('summary').click()
  await done.getByText('<b>The parser</b>').waitFor()
  expect(await done.textContent()).toContain('Done\\u{202E}.')
  expect(await done.locator('a[href*="example.org"]').count(), 'no link of a worker is one').toBe(0)
  await by(page, 'worker-waits').getByText('Publish the notes').waitFor()

  await by(page, 'tab-workers').click()
  await by(page, 'workers-table').waitFor()
  const row = (text: string) => by(page, 'worker-row').filter({ hasText: text })
  await expect.poll(() => by(page, 'worker-row').count(), POLL).toBe(4)
  await row('Publish').getByText('Needs answer').waitFor()
  expect(await row('Read the tests').getAttribute('data-level')).toBe('2')
  expect(await row('Write the parser').textContent()).toContain('no price set')
  await row('Review').getByText('Running, 1 worker').waitFor()
  expect(await row('Write the parser').locator('[data-testid="stop-worker"]').count()).toBe(0)
  await takePictures(page, 'workers')

  // The keyboard reaches every control, and the arrow keys reach the rows.
  await row('Write the parser').locator('a').focus()
  await page.keyboard.press('ArrowDown')
  const focused = () => page.evaluate<string>('document.activeElement.textContent')
  expect(await focused()).toBe('Review what there is')
  await page.keyboard.press('Tab')
  expect(await page.evaluate<string>('document.activeElement.getAttribute("aria-label")')).toBe(
    'Stop worker: Review what there is',
  )
  await page.keyboard.press('Enter')
  // Its descendants end with it, and the table shows it without a reload.
  await row('Review').getByText('stopped').waitFor()
  await row('Read the tests').getByText('stopped with its parent').waitFor()

  // A worker's inbox item links to the worker and to its parent session.
  await by(page, 'nav-inbox').click()
  const item = await openItem(page, { kind: 'input_required' })
  const origin = item.locator('[data-testid="from-worker"]')
  await expect.poll(() => origin.textContent(), POLL).toContain('from worker Publish the notes')
  expect(await origin.locator('a').nth(1).getAttribute('href')).toContain(id)
  await origin.locator('a').first().click()
  const publisher = (await workers()).find(worker => worker.goal?.startsWith('Publish'))!.worker_id
  await page.waitForURL(`**/sessions/${publisher}`)
  await by(page, 'question-card', '[data-state="open"]').waitFor()
  expect((await readLog(client, id)).filter(isType('worker.failed'))).toHaveLength(1)
  await waitFor(client, id, 0, endsTurn)
  // A worker cannot be forked, and its page has no fork button.
  await by(page, 'question-choice').first().click()
  await by(page, 'question-submit').click()
  await by(page, 'answer', '[data-final]').getByText('Published.').waitFor()
  await by(page, 'feedback-up').waitFor()
  expect(await by(page, 'fork').count()).toBe(0)
  expect(troubles).toEqual([])
})
