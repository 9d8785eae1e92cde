/**
 * Tasks and the board in a real Chromium: a card for each task with its attempts and dependencies, the answer
 * to a blocked task in the chat and in the inbox, and the board entries of the session tree.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openItem, showTab } from './inbox.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { endsTurn, isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
const call = (name: string, args: object) => ({ name, arguments: args })
const calls = (...given: object[]) => ({ tool_calls: given })
const goal = (text: string) => ({ user: `Goal:\\s+${text}` })
const finish = (summary: string) => calls(call('worker_complete', { summary }))
const block = (reason: string) => calls(call('worker_block', { reason }))
const note = (type: string, content: string, ref?: string) =>
  call('share_note', { notes: [{ type, content, ref }] })
const spawn = (goal: string, more: object = {}) => calls(call('spawn_task', { goal, ...more }))
const HIDDEN = 'How high \u202Eshall they be? <b>All</b> four of them, and the gable too.'

/** The steps after the task that was just created. */
const next = { after: ['{{result.task_id}}'] }
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'A house by the ford' } },
    // The results of its workers are the last input that it reads.
    {
      when: { user: '^\\[Shared board' },
      steps: [calls(note('FACT', 'The chimney is on the north side.')), { text: 'Good: the walls stand.' }],
    },
    {
      when: goal('Lay the ground'),
      steps: [
        calls(call('terminal', { command: 'until [ -e go ]; do sleep 0.1; done' })),
        finish('The ground is laid.'),
      ],
    },
    {
      when: { user: 'Goal:\\s+Raise[^]*Attempt 1 failed' },
      steps: [
        block(HIDDEN),
        calls(note('RESULT', 'The walls are 3 m high.', 'walls.md')),
        finish('The walls stand.'),
      ],
    },
    { when: goal('Raise'), answer: { error: { status: 400, message: 'it rained all day' } } },
    { when: goal('Paint'), steps: [block('Which colour?'), finish('It is {{result.answer}}.')] },
    { when: goal('Dig'), answer: { error: { status: 400, message: 'there is rock below' } } },
    { when: { user: '^\\[(Worker|Task)' }, answer: { text: 'I leave that to you.' } },
    {
      when: { user: '^build' },
      steps: [
        spawn('Lay the ground'),
        calls(
          call('spawn_task', { goal: 'Raise the walls, all four of them and the gable', ...next }),
          call('spawn_task', { goal: 'Paint the door', ...next }),
          call('spawn_task', { goal: 'Dig a well', ...next, max_attempts: 1 }),
        ),
        { text: 'Ground, walls, door and a well are planned.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

/** Promise 14.15: A person can answer a blocked task on the page, and its worker continues with the note. */
test('the page shows tasks with their attempts, and a blocked task continues with the answer as a note', async () => {
  const place = makePlace({ scenario })
  const server = await startService(place)
  const { client } = server
  const id = await newSession(client)
  await say(client, id, 'build a house')
  await waitFor(client, id, 0, endsTurn)
  const tasks = async () => (await client.call('listTasks', { params: { id } })).tasks
  const standings = async () =>
    Object.fromEntries((await tasks()).map(({ goal, status }) => [goal.split(' ')[0], status]))

  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions/${id}`)
  const card = (text: string) => by(page, 'task-card').filter({ hasText: text })
  const status = (text: string) => card(text).getAttribute('data-status')
  await card('Paint the door').waitFor()
  expect(await by(page, 'task-card').count()).toBe(4)
  expect(await status('Dig a well')).toBe('todo')
  expect(await card('Dig a well').textContent()).toContain('at most 1 attempt · after Lay the ground')
  await by(page, 'tasks').getByText('4 tasks: 1 running, 3 planned').waitFor()

  // The tasks continue: one attempt fails and is retried, one task fails for good, two ask.
  writeFileSync(join(place.workspaces, id, 'go'), '')
  const waiting = async () =>
    (await client.call('listInbox', { query: { status: 'pending', kind: 'action_required' } })).items
  await expect.poll(async () => (await waiting()).length, POLL).toBe(2)
  expect(await standings()).toEqual({ Lay: 'done', Raise: 'blocked', Paint: 'blocked', Dig: 'failed' })
  await expect.poll(() => status('Raise the walls'), POLL).toBe('blocked')
  await expect.poll(() => status('Dig a well'), POLL).toBe('failed')
  await card('Raise the walls').locator('summary').click()
  await expect
    .poll(() => card('Raise the walls').getByTestId('task-attempt').allTextContents(), POLL)
    .toHaveLength(2)
  expect(await card('Raise the walls').textContent()).toContain('attempt 2 of 3')
  // Its texts are plain text, with hidden characters made visible.
  const said = await by(page, 'tasks').textContent()
  expect(said).toContain('2 tasks blocked')
  expect(said).toContain('How high \\u{202E}shall they be? <b>All</b>')
  expect(await by(page, 'action-card').count(), 'it is asked in one place').toBe(0)

  const blocked = (text: string) => by(page, 'blocked-task').filter({ hasText: text })
  await blocked('Which colour?').getByTestId('answer-blocked').click()
  const field = blocked('Which colour?').getByTestId('task-note')
  expect(await blocked('Which colour?').getByTestId('unblock-task').isDisabled()).toBe(true)
  await field.fill('Green')
  await takePictures(page, 'tasks')
  await blocked('Which colour?').getByTestId('unblock-task').click()
  await expect.poll(() => status('Paint the door'), POLL).toBe('done')
  expect((await tasks()).find(({ goal }) => goal === 'Paint the door')?.result).toBe('It is Green.')
  await expect.poll(async () => (await waiting()).length, POLL).toBe(1)

  await by(page, 'nav-inbox').click()
  const item = by(page, 'inbox-item', '[data-kind="action_required"]')
  await item.getByText('How high \\u{202E}shall they be?').waitFor()
  const inboxNote = item.getByTestId('task-note')
  await inboxNote.fill('Three metres')
  await takePictures(page, 'inbox-task')
  await inboxNote.press('Enter')
  await expect.poll(async () => (await waiting()).length, POLL).toBe(0)
  await expect.poll(standings, POLL).toMatchObject({ Raise: 'done' })
  await showTab(page, 'decided')
  await openItem(page, { kind: 'action_required', text: 'How high' })
  await item.getByText('completed by you').waitFor()
  const walls = (await tasks()).find(({ goal }) => goal.startsWith('Raise'))
  const answers = (await readLog(client, walls?.worker_id ?? '')).filter(isType('user.message'))
  expect(answers.at(-1)?.data).toMatchObject({ synthetic: 'task_unblocked', content: 'Three metres' })

  // The other sessions can read what the worker wrote to the board, and so can a person.
  await waitFor(client, id, 0, isType('board.note'))
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'board-item', '[data-way="read"]').waitFor()
  await by(page, 'board-item', '[data-way="shared"]').locator('summary').click()
  await by(page, 'board-item', '[data-way="read"]').locator('summary').click()
  await by(page, 'board').locator('summary').click()
  await expect
    .poll(() => by(page, 'board').getByTestId('board-note').allTextContents(), POLL)
    .toEqual([
      'RESULTThe walls are 3 m high.walls.mdRaise the walls, all four of them and the gable',
      'FACTThe chimney is on the north side.this session',
    ])
  const inSight = () => by(page, 'board-item', '[data-way="shared"]').scrollIntoViewIfNeeded()
  await inSight()
  await takePictures(page, 'board', inSight)
  expect(troubles).toEqual([])
})
