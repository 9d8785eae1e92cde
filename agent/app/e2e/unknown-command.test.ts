/** Mistyped commands on the page and on the command line: they are not sent unless the user says so. */
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { by } from './page-session.ts'
import { cairn, makePlace, startService } from './server.ts'
import { newSession, readLog } from './session.ts'

const SCENARIO = { rules: [{ answer: { text: 'Very well.' } }] }

test('the page holds a mistyped command back, and sends it as a command or as text', async () => {
  const server = await startService(makePlace({ scenario: SCENARIO }))
  const { client } = server
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const note = by(page, 'unknown-command')

  await by(page, 'home-task').fill('/hepl')
  await by(page, 'home-task').press('Enter')
  await note.getByText('Unknown command. Did you mean /help?').waitFor()
  expect((await client.call('listSessions', { query: {} })).sessions).toEqual([])
  await by(page, 'meant-command').click()
  await note.waitFor({ state: 'detached' })
  expect(await by(page, 'home-task').inputValue()).toBe('/help')
  await by(page, 'home-task').press('Enter')
  await page.waitForURL('**/sessions/*')
  // The reply is Markdown, with the syntax as code.
  await by(page, 'command-reply').locator('li code').getByText('/goal <text>').waitFor()

  const id = await newSession(client)
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'composer').fill('/gaol ship it')
  await by(page, 'composer').press('Enter')
  await note.getByText('Did you mean /goal?').waitFor()
  await by(page, 'composer').press('End')
  await page.keyboard.type('!')
  await note.waitFor({ state: 'detached' })
  await by(page, 'composer').press('Enter')
  await by(page, 'send-as-text').click()
  await by(page, 'user-message').getByText('/gaol ship it!').waitFor()
  // A path is sent at once.
  await by(page, 'composer').fill('/etc/hosts is what?')
  await by(page, 'composer').press('Enter')
  await by(page, 'user-message').getByText('/etc/hosts is what?').waitFor()
  const sent = (await readLog(client, id)).filter(({ type }) => type === 'user.message')
  expect(sent).toHaveLength(2)
  expect(troubles).toEqual([])
})

test('cairn send refuses a mistyped command; with a space before it, it is text', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const server = await startService(place)
  const wrong = await cairn(place, ['send', '/gaol', 'ship it'])
  expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([
    2,
    '',
    'cairn: Unknown command /gaol. Did you mean /goal? To send it as text, begin with a space.\n',
  ])
  expect((await server.client.call('listSessions', { query: {} })).sessions).toEqual([])
  const meant = await cairn(place, ['send', ' /gaol ship it'])
  expect([meant.code, meant.stdout]).toEqual([0, 'Very well.\n'])
})
