/** A link shows a session without a login. An edited message is sent in a fork of the session. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, PHONE, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const scenario = {
  rules: [
    {
      when: { user: '^plant beans' },
      steps: [
        call('write_file', { path: 'beans.md', content: 'red' }),
        call('edit_file', { path: 'beans.md', old_string: 'red', new_string: 'green' }),
        { text: 'The **red** ones are planted.' },
      ],
    },
    {
      when: { user: '^which' },
      steps: [call('ask_user_question', { questions: [{ prompt: 'Which beans?' }] }), { text: 'Very well.' }],
    },
    { when: { user: '^plant peas' }, answer: { text: 'Peas, then.' } },
    { answer: { text: 'Very well.' } },
  ],
}

test('a link shows the chat read-only without a login until it is revoked', async () => {
  const server = await startService(makePlace({ scenario, config: { auth: { share_days: 7 } } }))
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'plant beans')
  const browser = await openBrowser()
  const { page, troubles } = await openPage(browser)
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions/${id}`)
  const openDialog = async () => {
    await page.locator('.session-about [data-testid="session-menu"]').click()
    await page.getByRole('menuitem', { name: 'Share' }).click()
    await by(page, 'share-make').waitFor()
  }
  await openDialog()
  await by(page, 'share-make').click()
  const link = await by(page, 'share-link').inputValue()

  // Another browser, without a login.
  const { page: stranger, troubles: theirs } = await openPage(browser)
  const requests: string[] = []
  stranger.on('request', request => requests.push(request.url()))
  await stranger.goto(link)
  await by(stranger, 'shared-answer').getByText('The red ones are planted.').waitFor()
  expect(await by(stranger, 'shared-user').textContent()).toBe('plant beans')
  // Calls are rendered by tool. The raw record and the event id are not shown.
  await by(stranger, 'tool-group').getByText('Edit 1 file').click()
  const edit = by(stranger, 'tool-card', '[data-tool="edit_file"]')
  await edit.locator('summary').first().click()
  await edit.locator('[data-testid="diff"][data-added="1"][data-removed="1"]').waitFor()
  expect(await by(stranger, 'json-tree').count()).toBe(0)
  expect(await edit.getByText(/^event \d/).count()).toBe(0)
  expect(await stranger.locator('textarea, form, [data-testid="composer"]').count(), 'nothing to write').toBe(
    0,
  )
  expect(
    requests.some(url => url.includes('cairn_sl_')),
    'the token is in no address that is asked for',
  ).toBe(false)
  await takePictures(stranger, 'shared')
  await stranger.setViewportSize(PHONE)
  // Later messages appear without a reload. A question is its own card, without a call beside it.
  const after = await say(server.client, id, 'which?')
  await waitFor(server.client, id, after, isType('inbox.input_required'))
  await stranger.locator('.answers').getByText('not answered yet').waitFor()
  expect(await by(stranger, 'tool-card').count()).toBe(2)
  await runTurn(server.client, id, 'the red ones')
  await stranger.locator('.answers').getByText('the red ones').waitFor()
  await by(stranger, 'shared-answer').getByText('Very well.').waitFor()

  await by(page, 'share-revoke').click()
  await by(page, 'share-revoke').waitFor({ state: 'detached' })
  await by(stranger, 'shared-gone').waitFor()
  expect(troubles).toEqual([])
  // The expected 404 is the only error on that page.
  expect(theirs.filter(trouble => !trouble.includes('404'))).toEqual([])
})

test('an edited message is sent in a fork, and the session stays unchanged', async () => {
  const server = await startService(makePlace({ scenario }))
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'hello')
  await runTurn(server.client, id, 'plant beans')
  // The model generates the title when the process has time to spare.
  await waitFor(server.client, id, 0, e => e.type === 'session.title_updated' && e.data.provisional !== true)
  const before = await readLog(server.client, id)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions/${id}`)
  const pencil = by(page, 'edit-message').nth(1)
  await pencil.click()
  await page.keyboard.press('Escape')
  await by(page, 'edit-text').waitFor({ state: 'detached' })
  expect(await page.evaluate<string>('document.activeElement.dataset.testid')).toBe('edit-message')
  await page.keyboard.press('Enter')
  await by(page, 'edit-text').fill(' \n ')
  expect(await by(page, 'edit-send').isDisabled(), 'blanks are no message').toBe(true)
  await by(page, 'edit-text').fill('plant peas')
  expect(await by(page, 'edit-send').isDisabled()).toBe(false)
  // A message that fails to arrive is sent again to the fork that was created for it.
  await page.route(/\/messages$/, route => route.abort(), { times: 1 })
  await by(page, 'edit-text').press('Enter')
  await by(page, 'toast').getByText('The server does not respond').waitFor()
  await by(page, 'edit-text').press('Enter')
  await page.waitForURL(url => !url.pathname.endsWith(id) && url.pathname.startsWith('/sessions/'))
  await by(page, 'answer').getByText('Peas, then.').waitFor()
  const fork = page.url().split('/').at(-1)!
  await by(page, 'history').getByText('Very well.').waitFor()
  expect(await by(page, 'history').textContent()).not.toContain('beans')
  const [began] = await readLog(server.client, fork)
  expect(began).toMatchObject({ data: { synthetic: 'fork', forked_from: { session_id: id } } })
  expect(await readLog(server.client, id)).toEqual(before)
  expect((await server.client.call('listSessions', { query: {} })).sessions).toHaveLength(2)

  // Editing the first message: the message in the fork gives that session its first title.
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'edit-message').first().click()
  await by(page, 'edit-text').fill('plant peas today')
  await by(page, 'edit-send').click()
  await page.waitForURL(url => !url.pathname.endsWith(id) && url.pathname.startsWith('/sessions/'))
  const anew = page.url().split('/').at(-1)!
  const title = async (id: string) => (await server.client.call('getSession', { params: { id } })).title
  expect(await title(anew)).not.toBe(await title(id))
  const named = await waitFor(server.client, anew, 0, isType('session.title_updated'))
  expect(named.data).toEqual({ title: 'plant peas today', provisional: true })

  // Forking from an answer: the fork is idle until the next message.
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'fork').last().click()
  await page.waitForURL(url => !url.pathname.endsWith(id) && url.pathname.startsWith('/sessions/'))
  await by(page, 'history').getByText('The red ones are planted.').waitFor()
  await by(page, 'composer').fill('thanks')
  await by(page, 'composer').press('Enter')
  const other = page.url().split('/').at(-1)!
  const answered = await waitFor(server.client, other, 0, isType('llm.response'))
  expect(answered.data.message.content).toBe('Very well.')
  // The delayed message is the only error.
  expect(troubles.filter(trouble => !trouble.includes('ERR_FAILED'))).toEqual([])
})
