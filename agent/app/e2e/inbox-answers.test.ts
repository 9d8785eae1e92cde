/**
 * The inbox shows which agent asks in which session and accepts the answer. The palette opens it by keyboard
 * alone.
 */
import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { itemRow, openItem } from './inbox.ts'
import { cairn, makePlace, startService } from './server.ts'
import { isType, newSession, runTurn, say, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const ask = (prompt: string, choices?: string[]) => ({
  tool_calls: [
    {
      name: 'ask_user_question',
      arguments: {
        questions: [{ prompt, ...(choices ? { choices: choices.map(label => ({ label })) } : {}) }],
      },
    },
  ],
})
const scenario = {
  rules: [
    {
      when: { user: '^paint' },
      steps: [ask('Which colour?', ['red', 'blue']), { text: 'Painted **blue**.' }],
    },
    { when: { user: '^write' }, steps: [ask('What shall it say?'), { text: 'Written.' }] },
    { answer: { text: 'Very well.' } },
  ],
}

test('a person answers a question in the inbox, on a card that names the agent and the session', async () => {
  const server = await startService(makePlace({ scenario }))
  const { client } = server
  const { id: fence } = await client.call('createSession', { body: { title: 'The fence' } })
  const sign = await newSession(client)
  await say(client, fence, 'paint it')
  await say(client, sign, 'write the sign')
  for (const id of [fence, sign]) await waitFor(client, id, 0, isType('inbox.input_required'))
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/inbox`)
  // The session is named after its first message until the model has generated a title.
  const signItem = { text: 'What shall it say?' }
  const signPane = await openItem(page, signItem)
  expect(await signPane.getByTestId('from-session').textContent()).toContain('write')
  const pane = await openItem(page, { text: 'Which colour?' })
  expect(await pane.getByTestId('from-session').textContent()).toBe('assistant in The fence')

  // The choices have the width of the form, as in the chat, and the question is visible only once.
  const widthOf = async (locator: Locator): Promise<number> => (await locator.boundingBox())!.width
  const group = pane.getByRole('radiogroup', { name: 'Which colour?' })
  expect(await widthOf(group.locator('.choice').first())).toBe(await widthOf(pane.locator('.inbox-form')))
  expect(await widthOf(group.getByText('Which colour?'))).toBe(1)

  // A number chooses.
  await page.keyboard.press('2')
  await pane.getByTestId('question-submit').click()
  const answered = await waitFor(client, fence, 0, isType('ask_user_question.response'))
  expect(answered.data.responses).toMatchObject([{ question: 'Which colour?', answer: 'blue' }])
  // The next item is opened.
  await itemRow(page, signItem).and(page.locator('[data-open]')).waitFor()
  await pane.getByTestId('question-text').fill('Beware')
  await page.keyboard.press('Enter')
  const written = await waitFor(client, sign, 0, isType('ask_user_question.response'))
  expect(written.data.responses).toMatchObject([{ answer: 'Beware' }])
  await page.getByText('Nothing needs you').waitFor()
  expect(troubles).toEqual([])
})

test('Ctrl+K opens sessions, pages and commands; the page exports the same log as the command line', async () => {
  const place = makePlace({ scenario })
  const server = await startService(place)
  const { id } = await server.client.call('createSession', { body: { title: 'Needle alpha' } })
  await server.client.call('createSession', { body: { title: 'Hay' } })
  await runTurn(server.client, id, 'hello')
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await by(page, 'recent-session').first().waitFor()
  const choose = async (typed: string, label: string) => {
    await page.keyboard.press('Control+k')
    await by(page, 'palette-input').pressSequentially(typed)
    await by(page, 'palette-option', '[aria-selected="true"]').getByText(label, { exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await by(page, 'palette-input').waitFor({ state: 'detached' })
  }
  await choose('need', 'Needle alpha')
  await page.waitForURL(`**/sessions/${id}`)
  await by(page, 'composer').waitFor()
  await choose('eve', 'EVENTS')
  await page.waitForURL(`**/sessions/${id}/events**`)
  const saved = page.waitForEvent('download')
  await choose('jsonl', 'Export as JSONL')
  const { stdout } = await cairn(place, ['export', id])
  expect(readFileSync(await (await saved).path(), 'utf8')).toBe(stdout)
  const text = page.waitForEvent('download')
  await choose('markdown', 'Export as Markdown')
  const markdown = readFileSync(await (await text).path(), 'utf8')
  expect(markdown).toContain('# Needle alpha')
  expect(markdown).toContain('Very well.')
  await choose('inb', 'Inbox')
  await page.waitForURL('**/inbox')

  // Archive a session from the menu, find it among the archived ones, and restore it.
  await page.goto(`${server.url}/sessions/${id}`)
  await server.client.call('archiveSession', { params: { id } })
  await by(page, 'restore').click()
  await by(page, 'composer').waitFor()
  expect((await server.client.call('getSession', { params: { id } })).status).toBe('active')
  expect(troubles).toEqual([])
})
