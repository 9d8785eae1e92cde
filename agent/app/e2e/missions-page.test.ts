/** Missions in a real Chromium: the list, a live mission, and its commands. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, PATIENCE_MS, readLog } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
const calls = (...tool_calls: object[]) => ({ tool_calls })
const call = (name: string, args: object) => ({ name, arguments: args })
const goal = (text: string) => ({ user: `Goal:\\s+${text}` })
const finish = (summary: string) => calls(call('worker_complete', { summary }))
const MARKED = 'The ford is shallow, <b>they say</b>.'
const scenario = {
  pace_ms: 0,
  rules: [
    {
      when: { schema: 'outcome_verdict' },
      answer: {
        json: {
          result: 'needs_revision',
          explanation: 'The ford is found and measured. Nobody has crossed it.',
          feedback: 'Cross the ford, and say how deep it was.',
        },
      },
    },
    { when: goal('Find'), answer: finish('The ford is by the mill.') },
    { when: goal('Measure'), answer: finish('It is 9 m wide.') },
    { when: goal('Ask'), answer: finish('The miller knows it well.') },
    // It runs until it is stopped. Its board entries are not read before that.
    {
      when: goal('Cross'),
      steps: [
        calls(call('share_note', { notes: [{ type: 'FACT', content: MARKED }] })),
        calls(call('terminal', { command: 'until [ -e enough ]; do sleep 0.1; done' })),
      ],
    },
    {
      when: { user: '^The mission is not complete yet' },
      answer: calls(call('spawn_worker', { goal: 'Cross the ford' }), call('wait_for_workers', {})),
    },
    { when: { user: '^\\[Worker [^]*9 m wide' }, answer: { text: 'The ford is by the mill, and 9 m wide.' } },
    { when: { user: '^\\[Worker' }, answer: calls(call('wait_for_workers', {})) },
    {
      when: { user: '^You lead this mission' },
      steps: [
        calls(call('spawn_task', { goal: 'Find the ford' })),
        calls(
          call('spawn_task', { goal: 'Measure the ford', after: ['{{result.task_id}}'] }),
          call('spawn_task', { goal: 'Ask the miller about it' }),
          call('wait_for_workers', {}),
        ),
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

/** Promise 14.5: The page lists a mission, shows its tasks as a graph and a table, and controls it. */
test('the page lists a mission, shows its verdict, tasks, board and workers live, and controls it', async () => {
  const server = await startService(makePlace({ scenario }))
  const { client } = server
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await by(page, 'nav-missions').click()
  await page.getByText('No missions yet').waitFor()

  // It is started on the page.
  await by(page, 'new-mission').click()
  expect(await by(page, 'create-mission').isDisabled()).toBe(true)
  await by(page, 'mission-goal').fill('Find a way over the river, and cross it')
  await by(page, 'mission-criteria').fill('A person has crossed\nThe report says how deep it was')
  await by(page, 'mission-minutes').fill('60')
  await by(page, 'mission-cost').fill('2')
  expect(await lookWithAxe(page, 'new mission')).toEqual([])
  await by(page, 'create-mission').click()
  // The form shows why the service rejects the mission, and keeps the entries.
  await by(page, 'mission-form').getByText('has no price in models.catalog').waitFor()
  await by(page, 'mission-cost').fill('')
  await by(page, 'create-mission').click()
  await page.waitForURL('**/missions/*-*')
  const mission_id = new URL(page.url()).pathname.split('/').at(-1)!
  const { session_id, rubric, budget, max_iterations } = await client.call('getMission', {
    params: { mission_id },
  })
  expect({ rubric, budget, max_iterations }).toEqual({
    rubric: '- A person has crossed\n- The report says how deep it was',
    budget: { max_minutes: 60 },
    max_iterations: 5,
  })
  await by(page, 'nav-missions').click()
  const entry = by(page, 'missions-list').locator('a')
  await entry.filter({ hasText: 'Find a way over the river' }).waitFor()
  // The second round is running and does not end.
  await expect
    .poll(async () => {
      const { iteration, open_children } = await client.call('getMission', { params: { mission_id } })
      return [iteration, open_children]
    }, POLL)
    .toEqual([1, 1])
  await entry.getByText('Round 2 of 5').waitFor()
  await by(page, 'missions-ended').click()
  await page.getByText('No such missions').waitFor()
  await by(page, 'missions-open').click()
  await entry.waitFor()
  await takePictures(page, 'missions')
  expect(await lookWithAxe(page, 'missions')).toEqual([])
  await entry.click()
  await page.waitForURL(`**/missions/${mission_id}`)
  const status = by(page, 'mission-status')
  await expect.poll(() => status.textContent(), POLL).toBe('Active')
  const verdicts = by(page, 'verdicts').locator('li[data-result]')
  await expect.poll(() => verdicts.count(), POLL).toBe(1)
  expect(await verdicts.first().textContent()).toContain('Cross the ford, and say how deep it was.')
  // The next cards show the running round and the remaining rounds.
  await by(page, 'running-round').getByText('Round 2').waitFor()
  await by(page, 'verdicts').getByText('Rounds 3 to 5').waitFor()
  await by(page, 'mission-result').getByText('The report says how deep it was').waitFor()
  expect(await by(page, 'budget-bars').textContent()).toContain('of 60 minutes')
  // The result comes first: the graded answer, and what the evaluator says of it.
  await by(page, 'mission-answer').getByText('The ford is by the mill, and 9 m wide.').waitFor()
  expect(await by(page, 'mission-result').textContent()).toContain('Needs revision')
  // The graph, whose nodes link to their workers, and the same tasks as a table.
  const nodes = by(page, 'task-graph').locator('.task-node')
  await expect.poll(() => nodes.count(), POLL).toBe(3)
  await by(page, 'task-graph')
    .getByRole('link', { name: /^Find the ford\s*Done$/ })
    .waitFor()
  await page.getByText('As a table').focus()
  await page.keyboard.press('Enter')
  const rows = by(page, 'task-table').locator('tbody tr')
  expect(await rows.filter({ hasText: 'Measure' }).textContent()).toContain('Find the ford')
  expect(await by(page, 'board-note').textContent()).toContain(MARKED)
  await by(page, 'mission-workers').getByText('Cross the ford').waitFor()
  await takePictures(page, 'mission')
  expect(await lookWithAxe(page, 'mission')).toEqual([])

  // Guidance is a message to the coordinator.
  await by(page, 'mission-guidance').fill('Take the boat')
  await by(page, 'send-guidance').click()
  await page.getByText('Guidance sent').waitFor()
  const messages = (await readLog(client, session_id)).filter(isType('user.message'))
  expect(messages.at(-1)?.data.content).toBe('Take the boat')

  // The coordinator's chat shows the mission too, and links back to it.
  await by(page, 'mission-coordinator').click()
  const card = by(page, 'mission-card', '[data-status="active"]')
  expect(await card.textContent()).toContain('Round 2 of 5')
  await card.locator('a').click()
  await page.waitForURL(`**/missions/${mission_id}`)

  await by(page, 'mission-pause').click()
  await expect.poll(() => status.textContent(), POLL).toBe('Paused')
  await by(page, 'mission-resume').click()
  await expect.poll(() => status.textContent(), POLL).toBe('Active')
  await by(page, 'mission-cancel').click()
  await expect.poll(() => status.textContent(), POLL).toBe('Cancelled')
  await expect.poll(() => by(page, 'mission-cancel').count(), POLL).toBe(0)
  // Its worker ended with it, and no session waits for a worker any more.
  await expect.poll(() => by(page, 'recent-session').first().innerHTML(), POLL).not.toContain('Running,')
  await by(page, 'mission-coordinator').click()
  await page.waitForURL(`**/sessions/${session_id}`)
  const log = await readLog(client, session_id)
  for (const type of ['mission.paused', 'mission.resumed', 'mission.cancelled'] as const)
    expect(log.filter(isType(type))).toHaveLength(1)
  expect(troubles.filter(trouble => !trouble.includes('422'))).toEqual([])
})
