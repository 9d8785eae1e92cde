/** The palette acts: it decides a request after showing it in full, and snoozes, stops and opens. */
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { by, POLL } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, runTurn, say, waitFor } from './session.ts'

const scenario = {
  rules: [
    {
      when: { user: '^write', step: 0 },
      answer: { tool_calls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'to be seen' } }] },
    },
    {
      when: { user: '^ask' },
      answer: {
        tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which colour?' }] } }],
      },
    },
    { answer: { text: 'Very well.' } },
  ],
}
const config = { agents: { assistant: { governance: { require_approval: ['write_file'] } } } }

/** Promise 5.5: The palette shows a call in full before it is decided. */
test('a request is decided from the palette only after its call was shown, by keyboard alone', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { client } = server
  const writing = await newSession(client)
  await runTurn(client, writing, 'write it')
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  const open = async (typed: string) => {
    await page.keyboard.press('Control+k')
    await by(page, 'palette-input').fill(typed)
    await by(page, 'palette-option').first().waitFor()
  }
  const statusOf = async () =>
    (await client.call('listInbox', { query: { session_id: writing } })).items.map(({ status }) => status)

  await open('approve')
  await by(page, 'palette-option', '[aria-selected="true"]').getByText('Approve: Write a.txt…').waitFor()
  await takePictures(page, 'palette')
  await page.keyboard.press('Enter')
  const dialog = by(page, 'palette-decide')
  await dialog.getByText('to be seen').waitFor()
  expect(await lookWithAxe(page, 'a decision in the palette')).toEqual([])
  // The focus is on Cancel: a second Enter decides nothing.
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  expect(await statusOf()).toEqual(['pending'])
  await open('approve')
  await page.keyboard.press('Enter')
  await dialog.getByText('to be seen').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('Approved: Write a.txt').waitFor()
  await expect.poll(statusOf, POLL).toEqual(['responded'])

  // A question is answered in the inbox; what waits can be snoozed.
  const asking = await newSession(client)
  await waitFor(client, asking, await say(client, asking, 'ask me'), isType('inbox.input_required'))
  await open('answer which')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/inbox?item=*')
  await by(page, 'inbox-item').waitFor()
  await open('snooze tomorrow')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing needs you').waitFor()

  // The open session is stopped, and ? lists the keys of the open page first.
  await page.goto(`${server.url}/sessions/${asking}`)
  await by(page, 'composer').waitFor()
  await open('stop')
  await page.keyboard.press('Enter')
  await expect
    .poll(async () => (await client.call('getSession', { params: { id: asking } })).state, POLL)
    .toBe('idle')
  await page.goto(`${server.url}/inbox`)
  await page.locator('main h1').waitFor()
  await page.keyboard.press('?')
  const keys = by(page, 'keys')
  expect(await keys.getByRole('heading').first().textContent()).toBe('Inbox')
  await keys.getByText('Snooze, or end the snooze').waitFor()
  expect(await lookWithAxe(page, 'the keys')).toEqual([])
  expect(troubles).toEqual([])
})
