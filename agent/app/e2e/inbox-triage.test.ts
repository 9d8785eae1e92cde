/** The inbox as triage: keys, approvals decided together, filters in the address, and the phone. */
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { DESKTOP, openBrowser, openPage, PHONE, takePictures } from './browser.ts'
import { choose, picker } from './page-session.ts'
import { itemRow, openItem, showTab } from './inbox.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

const LINES = Array.from({ length: 80 }, (_, at) => `line ${at}`).join('\n')
const write = (path: string, content = 'x') => ({ name: 'write_file', arguments: { path, content } })
const scenario = {
  rules: [
    { when: { result: 'responses' }, answer: { text: 'So be it.' } },
    {
      when: { user: '^write', step: 0 },
      answer: { tool_calls: [write('a.txt'), write('b.txt', LINES), write('c.txt')] },
    },
    {
      when: { user: '^run', step: 0 },
      answer: { tool_calls: [{ name: 'todo', arguments: { todos: [] } }] },
    },
    {
      when: { user: '^ask' },
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
    { answer: { text: 'Very well.' } },
  ],
}
const config = {
  agents: {
    assistant: {
      governance: { require_approval: ['write_file', 'todo'] },
      inbox: { task_complete_minutes: 0 },
    },
  },
}

const decisions = (log: readonly SessionEvent[]) =>
  log
    .filter(isType('user.message'))
    .flatMap(({ data }) => (data.synthetic === 'governance_decision' ? [data.content] : []))

/** Promise 5.5: Approvals of one session can be decided together after every call was on screen. */
test('approvals are decided together by keys, once the end of the stack was on screen', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { client } = server
  const writing = await newSession(client)
  await runTurn(client, writing, 'write three files')
  const running = await newSession(client)
  await runTurn(client, running, 'run it')
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/inbox`)
  const open = page.locator('[data-testid="inbox-row"][data-open]')
  await open.getByText('a.txt').waitFor()

  // J and K move, X selects, Shift J extends. A call of another tool cannot join them.
  await page.keyboard.press('j')
  await open.getByText('b.txt').waitFor()
  await page.keyboard.press('k')
  await page.keyboard.press('x')
  await page.keyboard.press('Shift+J')
  await page.keyboard.press('Shift+J')
  const batch = page.getByTestId('inbox-batch')
  await batch.getByRole('heading', { name: '3 calls' }).waitFor()
  expect(await batch.getByTestId('batch-call').count()).toBe(3)
  expect(await itemRow(page, { text: 'Plan' }).getByTestId('inbox-select').count()).toBe(0)

  // The end of the stack is below the fold: neither the button nor the key approves.
  const approve = batch.getByTestId('approve')
  expect(await approve.isDisabled()).toBe(true)
  await page.keyboard.press('a')
  expect(await approve.isDisabled()).toBe(true)
  await batch.locator('.inbox-end').scrollIntoViewIfNeeded()
  await expect.poll(() => approve.isEnabled()).toBe(true)
  expect(await batch.locator('.inbox-bar').textContent()).toContain('Exactly these 3 calls will run.')
  await takePictures(page, 'inbox-batch')

  // Another person decides one of them first: it is not decided twice, and the page says so.
  const { items } = await client.call('listInbox', { query: { session_id: writing, status: 'pending' } })
  const second = items.find(({ title, payload }) => JSON.stringify([title, payload]).includes('b.txt'))!
  await page.route('**/v1/inbox/*/respond', async route => {
    if (route.request().url().includes(second.id))
      await client.call('respondInbox', { params: { item_id: second.id }, body: { decision: 'reject' } })
    await route.continue()
  })
  await page.keyboard.press('a')
  await page.getByText('1 call could not be decided and stays open.').waitFor()
  await expect.poll(async () => decisions(await readLog(client, writing)).length).toBe(3)
  const made = await client.call('listInbox', { query: { session_id: writing, status: 'responded' } })
  expect(made.items.map(({ decision }) => decision).toSorted()).toEqual(['approve', 'approve', 'reject'])

  // The next item is open; a rejection takes a reason.
  const pane = page.getByTestId('inbox-item')
  await open.getByText('Plan').waitFor()
  await page.keyboard.press('r')
  await pane.getByTestId('reject-reason').fill('Not now')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing needs you').waitFor()
  expect(decisions(await readLog(client, running)).join()).toContain('Not now')
  expect(troubles.filter(trouble => !trouble.includes('409'))).toEqual([])
})

test('news is acknowledged by keys, filters are in the address, and a phone shows one item at a time', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { client } = server
  for (const text of ['one', 'two', 'three']) await runTurn(client, await newSession(client), text)
  const asking = await newSession(client)
  await waitFor(client, asking, await say(client, asking, 'ask me'), isType('inbox.input_required'))
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')

  await page.goto(`${server.url}/inbox?kind=governance_gate`)
  await page.getByText('No item matches the filter').waitFor()
  await page.getByRole('button', { name: 'Clear filter' }).click()
  await itemRow(page, { kind: 'input_required' }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  await choose(picker(page, 'Kind'), 'Question')
  await page.waitForURL('**/inbox?kind=input_required*')

  await showTab(page, 'news')
  await page.waitForURL('**tab=news*')
  await choose(picker(page, 'Kind'), 'All kinds')
  await expect.poll(() => itemRow(page, {}).count()).toBe(3)
  // Letters on the button of a picker choose a value.
  await openItem(page, { kind: 'task_complete' })
  await page.keyboard.press('e')
  await expect.poll(() => itemRow(page, {}).count()).toBe(2)
  await page.keyboard.press('Shift+E')
  await page.getByText('No news').waitFor()
  // Undone while the message is there: both come back. Then again.
  await page.getByText('2 items acknowledged').waitFor()
  await page.getByTestId('toast-action').last().click()
  await expect.poll(() => itemRow(page, {}).count()).toBe(2)
  await page.keyboard.press('Shift+E')
  await page.getByText('No news').waitFor()
  expect((await client.call('listInbox', { query: { status: 'acknowledged' } })).items).toHaveLength(3)

  await page.setViewportSize(PHONE)
  await showTab(page, 'needs')
  await itemRow(page, { kind: 'input_required' }).waitFor()
  expect(await page.getByTestId('inbox-item').count()).toBe(0)
  const pane = await openItemOnPhone(page)
  await pane.getByText('Which colour?').last().waitFor()
  expect(await itemRow(page, {}).isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Back to the inbox' }).click()
  await itemRow(page, { kind: 'input_required' }).waitFor()
  // The address of an item opens it, and the browser's back button closes it.
  await openItemOnPhone(page)
  await page.goBack()
  await itemRow(page, { kind: 'input_required' }).waitFor()
  await page.setViewportSize(DESKTOP)
  await openItem(page, { kind: 'input_required' })
  await page.keyboard.press('o')
  await page.waitForURL(`**/sessions/${asking}`)
  expect(troubles).toEqual([])
})

/** Promise 4.25: Snoozed and unread items are kept by the server for their person. */
test('an item is snoozed, undone and marked as unread by keys, and the server keeps it', async () => {
  const place = makePlace({ scenario, config })
  const server = await startService(place)
  const { client } = server
  const asking = await newSession(client)
  await waitFor(client, asking, await say(client, asking, 'ask me'), isType('inbox.input_required'))
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/inbox`)
  const row = itemRow(page, { kind: 'input_required' })
  // Opened, and so read; then unread again, also after a reload that opens nothing.
  await page.locator('[data-testid="inbox-row"]:not([data-unread])').waitFor()
  await page.keyboard.press('u')
  await page.locator('[data-testid="inbox-row"][data-unread]').waitFor()
  const item = async () => (await client.call('listInbox', { query: { status: 'pending' } })).items[0]
  // The page shows a change before the server has confirmed it.
  await expect.poll(async () => (await item())?.read_at).toBeNull()

  await page.keyboard.press('h')
  await page.getByTestId('snooze-tomorrow').waitFor()
  await expect.poll(() => page.evaluate(`document.activeElement?.role ?? ''`)).toBe('menuitem')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing needs you').waitFor()
  await expect.poll(() => page.title()).not.toContain('(1)')
  const snoozedUntil = async () => new Date((await item())?.snoozed_until ?? 0).getTime()
  await expect.poll(snoozedUntil).toBeGreaterThan(Date.now())
  await page.keyboard.press('z')
  await row.waitFor()
  await expect.poll(item).not.toHaveProperty('snoozed_until')

  // Snoozed again, it has a tab of its own, where its snooze ends. The question can be answered there.
  await page.keyboard.press('h')
  await page.getByTestId('snooze-monday').waitFor()
  expect(await lookWithAxe(page, 'the snooze menu')).toEqual([])
  // The menu closes with the changes of the window that the check makes.
  if (!(await page.getByTestId('snooze-monday').isVisible())) await page.keyboard.press('h')
  await page.getByTestId('snooze-monday').click()
  await page.getByText('Nothing needs you').waitFor()
  await page.reload()
  await showTab(page, 'snoozed')
  const pane = await openItem(page, { kind: 'input_required' })
  await pane.getByText('Snoozed until').waitFor()
  await takePictures(page, 'inbox-snoozed')
  await page.goto(server.url)
  await page.getByTestId('home').waitFor()
  expect(await page.getByTestId('home-needs').count()).toBe(0)
  await page.goto(`${server.url}/inbox?tab=snoozed`)
  await page.getByTestId('inbox-item').waitFor()
  await page.keyboard.press('h')
  await showTab(page, 'needs')
  await row.waitFor()
  expect(troubles).toEqual([])
})

async function openItemOnPhone(page: Parameters<typeof itemRow>[0]) {
  await itemRow(page, {}).getByRole('button').last().click()
  const pane = page.getByTestId('inbox-item')
  await pane.waitFor()
  return pane
}
