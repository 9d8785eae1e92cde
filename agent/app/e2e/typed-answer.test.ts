/**
 * Text typed while a question is open, on the page and on the command line: it answers the question unless
 * the user chooses a new message.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { itemRow, showTab } from './inbox.ts'
import { openBrowser, openPage } from './browser.ts'
import { cairn, makePlace, startService } from './server.ts'
import { newSession, readLog, say, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const SCENARIO = {
  rules: [
    { when: { result: 'green' }, answer: { text: 'Green it is.' } },
    { when: { user: 'never mind' }, answer: { text: 'As you like.' } },
    {
      when: { user: 'paint' },
      answer: {
        tool_calls: [
          {
            name: 'ask_user_question',
            arguments: {
              questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
            },
          },
        ],
      },
    },
  ],
}

/**
 * Promise 6.8: Typed text answers the open question by default, in the page and in `cairn send`; a new
 * message expires it.
 */
test('the composer answers an open question or sends a new message, and the inbox shows which', async () => {
  const server = await startService(makePlace({ scenario: SCENARIO }))
  const { page } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const open = async () => {
    const id = await newSession(server.client)
    await say(server.client, id, 'paint it')
    await page.goto(`${server.url}/sessions/${id}`)
    await by(page, 'question-card', '[data-state="open"]').waitFor()
    await by(page, 'composer', '[data-mode="answer"]').waitFor()
    return id
  }
  const answered = await open()
  await by(page, 'composer').fill('green')
  await by(page, 'composer').press('Enter')
  await by(page, 'question-card', '[data-state="answered"]').getByText('green').waitFor()
  await page.getByText('Green it is.').waitFor()
  expect((await readLog(server.client, answered)).filter(({ type }) => type === 'user.message')).toHaveLength(
    1,
  )

  await open()
  await by(page, 'composer').fill('never mind')
  await by(page, 'send-instead').click()
  await by(page, 'question-card', '[data-state="cancelled"]').waitFor()
  await page.getByText('As you like.').waitFor()
  await by(page, 'composer', '[data-mode="message"]').waitFor()
  await page.goto(`${server.url}/inbox`)
  await showTab(page, 'decided')
  await itemRow(page, { status: 'expired' }).getByText('skipped').waitFor()
  await itemRow(page, { status: 'responded' }).getByText('answered').waitFor()
})

test('cairn send answers the open question; --new-message sends a message instead', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const server = await startService(place)
  const ask = async () => {
    const id = await newSession(server.client)
    const after = await say(server.client, id, 'paint it')
    await waitFor(server.client, id, after, ({ type }) => type === 'inbox.input_required')
    return id
  }
  const answer = await cairn(place, ['send', '--session', await ask(), 'green'])
  expect([answer.code, answer.stdout]).toEqual([0, 'Green it is.\n'])
  expect(answer.stderr).toContain('answered the pending question')
  const instead = await cairn(place, ['send', '--session', await ask(), '--new-message', 'never mind'])
  expect([instead.code, instead.stdout]).toEqual([0, 'As you like.\n'])
})
