/** The table of sessions in a real Chromium: its columns, filters, bulk actions and its form on a phone. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { by, choose, picker, POLL } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, runTurn, say, waitFor } from './session.ts'

const scenario = {
  pace_ms: 0,
  rules: [
    {
      when: { user: '^read' },
      steps: [
        { tool_calls: [{ name: 'terminal', arguments: { command: 'sleep 0.2; npm test' } }] },
        { tool_calls: [{ name: 'ask_user_question', arguments: { questions: [{ prompt: 'Which?' }] } }] },
      ],
    },
    { answer: { text: 'The parser is ready.' } },
  ],
}

test('the table says what each session did last, and its filters are in the address', async () => {
  const server = await startService(makePlace({ scenario, config: { agents: { clerk: {} } } }))
  const { client } = server
  const titled = async (title: string, agent = 'assistant') =>
    (await client.call('createSession', { body: { title, agent } })).id
  const done = await titled('Write the parser', 'clerk')
  await runTurn(client, done, 'hello')
  const asking = await titled('Check the tests')
  await say(client, asking, 'read them')
  await waitFor(client, asking, 0, isType('inbox.input_required'))
  const command = await newSession(client)
  await runTurn(client, command, '/help')
  // Neither a message nor a title: not a row.
  await newSession(client)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  await page.goto(`${server.url}/sessions`)
  const row = (id: string) => page.getByRole('row').filter({ has: page.locator(`[data-session-id="${id}"]`) })
  await row(done).getByText('“The parser is ready.”').waitFor()
  await row(asking).getByText('Needs answer').waitFor()
  await row(asking).getByText('Ask you').waitFor()
  await row(command).getByText('/help').waitFor()
  await expect
    .poll(() => row(asking).locator('[data-testid="strip"]').getAttribute('aria-label'), POLL)
    .toMatch(/tools \d+ %/)
  expect(await by(page, 'session-item').count()).toBe(3)
  await takePictures(page, 'sessions', () => by(page, 'session-item').first().waitFor())

  await page.goto(`${server.url}/sessions?agent=clerk`)
  await row(done).waitFor()
  await expect.poll(() => by(page, 'session-item').count(), POLL).toBe(1)
  await choose(picker(page, 'State'), 'Needs answer')
  await page.getByText('No sessions match these filters').waitFor()
  expect(new URL(page.url()).search).toBe('?agent=clerk&state=needs_answer')
  await page.reload()
  await page.getByText('No sessions match these filters').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await row(asking).waitFor()

  // A change made elsewhere is shown at once.
  await client.call('stopSession', { params: { id: asking } })
  await row(asking).getByText('Idle').waitFor()
  expect(troubles).toEqual([])
})

test('selected sessions are exported and archived together', async () => {
  const server = await startService(makePlace({ scenario }))
  const { client } = server
  const ids: string[] = []
  for (const title of ['One', 'Two', 'Three']) {
    const { id } = await client.call('createSession', { body: { title } })
    await runTurn(client, id, `hello ${title}`)
    ids.push(id)
  }
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  await page.goto(`${server.url}/sessions`)
  await page.getByRole('checkbox', { name: 'Select One' }).check()
  await page.getByRole('checkbox', { name: 'Select Three' }).check()
  await by(page, 'bulk-count').getByText('2 sessions selected').waitFor()
  const downloads: string[] = []
  page.on('download', download => {
    void download.path().then(path => downloads.push(readFileSync(path, 'utf8')))
  })
  await by(page, 'bulk-export').click()
  await expect.poll(() => downloads.length, POLL).toBe(2)
  expect(downloads.map(text => text.includes('hello Two'))).toEqual([false, false])

  await by(page, 'bulk-archive').click()
  await page.getByRole('dialog').getByText('Archive 2 sessions?').waitFor()
  await by(page, 'bulk-archive-submit').click()
  await expect.poll(() => by(page, 'session-item').count(), POLL).toBe(1)
  const statuses = await Promise.all(ids.map(id => client.call('getSession', { params: { id } })))
  expect(statuses.map(({ status }) => status === 'archived')).toEqual([true, false, true])
  await page.getByRole('button', { name: 'Show archived sessions' }).click()
  await expect.poll(() => by(page, 'session-item').count(), POLL).toBe(2)
  expect(troubles).toEqual([])
})

/** Promise 4.25: Pins and saved views are kept by the server for their person. */
test('sessions are pinned, and filters are saved as views, for the person on the server', async () => {
  const server = await startService(makePlace({ scenario, config: { agents: { clerk: {} } } }))
  const { client } = server
  const ids: string[] = []
  for (const title of ['One', 'Two', 'Three']) {
    const { id } = await client.call('createSession', {
      body: { title, agent: title === 'Two' ? 'clerk' : 'assistant' },
    })
    await runTurn(client, id, `hello ${title}`)
    ids.push(id)
  }
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await by(page, 'home').waitFor()
  await page.goto(`${server.url}/sessions`)
  const titles = () => page.locator('.sessions-table tbody th').allTextContents()
  await expect.poll(titles, POLL).toEqual(['Three', 'Two', 'One'])
  const row = page.getByRole('row').filter({ has: page.locator(`[data-session-id="${ids[0]}"]`) })
  await row.getByTestId('session-menu').click()
  await by(page, 'pin').click()
  await expect.poll(titles, POLL).toEqual(['One', 'Three', 'Two'])
  await row.getByRole('img', { name: 'Pinned' }).waitFor()
  await expect.poll(() => by(page, 'recent-session').first().textContent(), POLL).toContain('One')
  await page.getByRole('checkbox', { name: 'Select Two' }).check()
  await by(page, 'bulk-pin').click()
  await expect.poll(titles, POLL).toEqual(['Two', 'One', 'Three'])
  expect((await client.call('sessionMarks')).pins).toEqual([ids[1], ids[0]])

  await page.goto(`${server.url}/sessions?agent=clerk`)
  await expect.poll(titles, POLL).toEqual(['Two'])
  await by(page, 'session-views').click()
  await by(page, 'save-view').click()
  await by(page, 'view-name').fill('Of the clerk')
  expect(await lookWithAxe(page, 'save view')).toEqual([])
  await page.keyboard.press('Enter')
  await by(page, 'view-name').waitFor({ state: 'detached' })
  // Another browser of the person has it, from the menu and from the palette.
  const other = (await openPage(await openBrowser())).page
  const { login_token } = await client.call('createLoginLink', {
    params: { user_id: (await client.call('me')).id },
  })
  await other.goto(`${server.url}/login#token=${login_token}`)
  await by(other, 'home').waitFor()
  await other.goto(`${server.url}/sessions`)
  await by(other, 'session-views').click()
  await by(other, 'saved-view').getByText('Of the clerk').click()
  await other.waitForURL('**/sessions?agent=clerk')
  await other.goto(server.url)
  await by(other, 'home').waitFor()
  await other.keyboard.press('Control+k')
  await by(other, 'palette-input').fill('view clerk')
  await by(other, 'palette-option', '[aria-selected="true"]').getByText('View: Of the clerk').waitFor()
  await other.keyboard.press('Enter')
  await other.waitForURL('**/sessions?agent=clerk')

  await by(page, 'session-views').click()
  await by(page, 'remove-views').click()
  await by(page, 'view-remove').click()
  await expect.poll(async () => (await client.call('sessionMarks')).views, POLL).toEqual([])
  expect(troubles).toEqual([])
})
