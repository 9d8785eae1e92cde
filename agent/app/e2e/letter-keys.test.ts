/** A person switches single-letter keys off, in every browser, and back on (WCAG 2.1.4). */
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { by, POLL } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { newSession, runTurn } from './session.ts'

const scenario = {
  rules: [
    {
      when: { user: '^write', step: 0 },
      answer: {
        tool_calls: ['a.txt', 'b.txt'].map(path => ({
          name: 'write_file',
          arguments: { path, content: 'x' },
        })),
      },
    },
    { answer: { text: 'Very well.' } },
  ],
}
const config = { agents: { assistant: { governance: { require_approval: ['write_file'] } } } }

/** Promise 4.25: A person who switched single-letter keys off decides and opens nothing with one. */
test('single-letter keys are switched off for the person, and switched on again', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { client } = server
  const id = await newSession(client)
  await runTurn(client, id, 'write it')
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  await page.keyboard.press('?')
  await by(page, 'keys').getByText('New session').waitFor()
  await takePictures(page, 'keys')
  await by(page, 'letter-keys').focus()
  await page.keyboard.press('Space')
  // An action without another key is no longer listed.
  await by(page, 'keys').getByText('New session').waitFor({ state: 'detached' })
  await by(page, 'keys').getByText('Search and commands').waitFor()
  await by(page, 'keys').getByText('Stop, in the message field').waitFor()
  expect(await lookWithAxe(page, 'the keys, switched off')).toEqual([])
  await page.keyboard.press('Escape')

  // The server stores the setting: it is still there after a reload and in the API.
  await page.goto(`${server.url}/inbox`)
  await by(page, 'approve').waitFor()
  await page.locator('html[data-letter-keys="off"]').waitFor()
  expect(await client.call('me')).toMatchObject({ letter_keys: false })
  for (const key of ['a', 'r', 'h', 'x', '?', '[', 'g', 's', 'c']) await page.keyboard.press(key)
  // Radio buttons and check boxes ignore letters, so the page receives them.
  await page.locator('input[type="checkbox"]').first().focus()
  for (const key of ['j', 'e', 'a']) await page.keyboard.press(key)
  // Other keys work, and a letter goes into a field.
  await page.keyboard.press('Control+k')
  await by(page, 'palette-input').waitFor()
  await page.keyboard.type('all keys')
  expect(await by(page, 'palette-input').inputValue()).toBe('all keys')
  expect(new URL(page.url()).pathname).toBe('/inbox')
  expect(await by(page, 'keys').count()).toBe(0)
  expect(await by(page, 'reject-reason').count()).toBe(0)
  const pending = async () => (await client.call('listInbox', { query: { status: 'pending' } })).items.length
  expect(await pending()).toBe(2)
  await page.keyboard.press('Escape')

  // The account menu has the setting too, for people who have no question mark to press.
  await by(page, 'account').click()
  await by(page, 'open-keys').click()
  await by(page, 'letter-keys').click()
  await by(page, 'keys').getByText('New session').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('html:not([data-letter-keys])').waitFor()
  await page.keyboard.press('a')
  await expect.poll(pending, POLL).toBe(1)
  expect(await client.call('me')).toMatchObject({ letter_keys: true })
  expect(troubles).toEqual([])
})
