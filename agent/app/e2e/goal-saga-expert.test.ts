/**
 * The cards of a running session in a real Chromium: the goal and its verdicts, the plan, an expert, a saga
 * and its rollback.
 */
import { join } from 'node:path'
import { existsSync, writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, PHONE, takePictures } from './browser.ts'
import { startSession } from './page-session.ts'
import { makePlace, startService } from './server.ts'
import { PATIENCE_MS, isType, readLog, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
// This runs in the page, so it is a string: this program has no DOM types.
const valuesOf = (page: Page, selector: string, key: string) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('${selector}')].map(element => element.dataset.${key})`,
  )
const call = (name: string, args: object) => ({ name, arguments: args })
const todo = (...states: string[]) =>
  call('todo', {
    todos: ['Write the parser', 'Have it reviewed', 'Test it'].map((content, index) => ({
      id: `t${index}`,
      content,
      status: states[index],
    })),
  })

/** Runs until the test has checked the page before the goal is reached. */
const UNTIL_SEEN = call('terminal', { command: 'until [ -e seen ]; do sleep 0.1; done' })

const SCENARIO = {
  rules: [
    {
      when: { schema: 'outcome_verdict', user: 'reviewed, and its tests pass' },
      answer: {
        json: {
          result: 'satisfied',
          explanation: 'Parser and tests are there, and the reviewer agrees.',
          feedback: '',
        },
      },
    },
    {
      when: { schema: 'outcome_verdict' },
      answer: {
        json: {
          result: 'needs_revision',
          explanation: 'The parser is there, its tests are not.',
          feedback: 'Add the tests and run them.',
        },
      },
    },
    {
      when: { system: 'You review' },
      steps: [
        { tool_calls: [call('read_file', { path: 'parser.js' })] },
        { text: 'Line 1 accepts **empty input**. Say what it should do.' },
      ],
    },
    {
      when: { user: 'goal is not reached' },
      steps: [
        {
          text: 'The tests are missing. I add them.',
          tool_calls: [
            call('write_file', { path: 'parser.test.js', content: 'test' }),
            todo('completed', 'completed', 'completed'),
          ],
        },
        { text: 'The parser is written and reviewed, and its tests pass.' },
      ],
    },
    {
      when: { user: 'rename' },
      steps: [
        {
          text: 'I rename it everywhere.',
          tool_calls: [
            call('write_file', { path: 'renamed.js', content: 'new name' }),
            call('terminal', { command: 'echo renamed >> history.txt' }),
          ],
        },
        {
          tool_calls: [
            call('ask_user_question', {
              questions: [
                { prompt: 'Rename the tests as well?', choices: [{ label: 'yes' }, { label: 'no' }] },
              ],
            }),
          ],
        },
      ],
    },
    {
      steps: [
        {
          text: 'I begin with a plan.',
          tool_calls: [
            todo('in_progress', 'pending', 'pending'),
            call('write_file', { path: 'parser.js', content: 'parse' }),
            UNTIL_SEEN,
          ],
        },
        {
          tool_calls: [
            call('consult_expert', {
              expert: 'reviewer',
              task: 'Read parser.js and name every input that it gets wrong.',
            }),
          ],
        },
        { tool_calls: [todo('completed', 'completed', 'in_progress')] },
        { text: 'A first parser is written and reviewed.' },
      ],
    },
  ],
}
const CONFIG = {
  models: {
    default: 'test/scripted',
    providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
    catalog: { 'test/scripted': { input: 3, output: 15, context_window: 100_000 } },
  },
  agents: { assistant: { experts: ['reviewer'], saga: { enabled: true } } },
  experts: { reviewer: { description: 'reads code', system: 'You review code.', tools: ['read_file'] } },
}

/** Promise 4.15: The page shows goals, experts and sagas live, works by keyboard and fits a phone. */
test('shows a goal with an expert to its end and a saga rolled back by a stop, also by keyboard and on a phone', async () => {
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const server = await startService(place)
  const { page, troubles } = await openPage(await openBrowser())
  const id = await startSession(page, server.loginUrl, server.client)

  await by(page, 'composer').fill(
    '/goal Ship a parser for the new format\nRubric:\nThe parser is reviewed and its tests pass.',
  )
  await by(page, 'composer').press('Enter')
  const goal = by(page, 'goal')
  await by(page, 'goal', '[data-status="active"]').waitFor()
  writeFileSync(join(place.workspaces, id, 'seen'), '')
  await by(page, 'goal', '[data-status="satisfied"]').waitFor()
  expect(await goal.locator('summary').textContent()).toMatch(/2 of 20 · .* tokens · \$0\.\d+/)
  // By keyboard: finished cards have folded.
  await goal.locator('summary').focus()
  await page.keyboard.press('Enter')
  expect(await valuesOf(page, '[data-testid="goal"] li', 'result')).toEqual(['needs_revision', 'satisfied'])
  await goal.getByText('Add the tests and run them.').waitFor()
  await by(page, 'plan').getByText('3 of 3').waitFor()

  const expert = by(page, 'expert')
  await expert.locator('summary').focus()
  await page.keyboard.press('Enter')
  await expert.getByText('Read parser.js and name every input that it gets wrong.').last().waitFor()
  await expert.locator('code', { hasText: 'read_file' }).waitFor()
  await expert.locator('strong', { hasText: 'empty input' }).waitFor()
  expect(await by(page, 'expert-sums').textContent()).toMatch(/^2 of 10 steps · \d.* tokens · \$0\.\d+$/)
  await by(page, 'expert-up').click()
  const endorsed = await waitFor(server.client, id, 0, isType('expert.endorse'))
  expect(endorsed.data).toMatchObject({ expert: 'reviewer', rating: 'up', source: 'user' })

  // A saga that completed is folded. A saga that a stop interrupted shows which steps were undone and which
  // were not.
  await by(page, 'saga', '[data-status="committed"]').waitFor()
  await by(page, 'composer').fill('rename the parser')
  await by(page, 'composer').press('Enter')
  await by(page, 'question-card', '[data-state="open"]').waitFor()
  await by(page, 'saga', '[data-status="running"]').waitFor()
  expect(existsSync(join(place.workspaces, id, 'renamed.js'))).toBe(true)
  await by(page, 'composer').fill('/stop')
  await by(page, 'composer').press('Enter')
  await by(page, 'saga', '[data-status="escalated"]').waitFor()
  expect(await valuesOf(page, '[data-testid="saga-step"]', 'state')).toEqual([
    'compensated',
    'compensation_failed',
  ])
  expect(existsSync(join(place.workspaces, id, 'renamed.js'))).toBe(false)
  await expect
    .poll(async () => (await readLog(server.client, id)).some(isType('saga.compensate')), POLL)
    .toBe(true)
  await expert.scrollIntoViewIfNeeded()
  await takePictures(page, 'cards', async () => {
    await expert.scrollIntoViewIfNeeded()
    expect(
      await page.evaluate<number>('document.documentElement.scrollWidth'),
      'nothing is wider than a phone',
    ).toBeLessThanOrEqual(PHONE.width)
  })
  await by(page, 'saga-step').first().locator('button').click()
  await by(page, 'event-detail').getByText('saga.step_begin').first().waitFor()
  expect(troubles).toEqual([])
})
