/** The inbox page: an agent's texts with hidden characters made visible, and who decided. */
import { createClient } from '@cairn/client'
import { visibleText } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { itemRow, openItem, showTab } from './inbox.ts'
import { DESKTOP, openBrowser, openPage, PHONE, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, PATIENCE_MS, runTurn, say, waitFor } from './session.ts'

const OVERRIDE = '\u202E'
const HIDDEN = '\u200B'
const ESCAPE = '\u001B[31m'
const question = {
  questions: [
    {
      prompt: `Pay ${OVERRIDE}000,1 now?`,
      choices: [
        { label: `yes${HIDDEN}`, description: `all ${ESCAPE}of it` },
        { label: 'no', description: 'none of it' },
      ],
    },
  ],
  context: `The invoice${HIDDEN} says so`,
}
const SITE = 'https://registry.example.org/login'
const action = {
  title: `Unlock ${OVERRIDE}the shed`,
  instructions: `1. Turn the key${HIDDEN} twice. 2. Leave the door open.`,
  reason: 'Only you have it.',
  context: 'It rains.',
  target: SITE,
}
const CODE = `\`\`\`ts\nconst value = ${'configuration.readSomething(withArguments) + '.repeat(12)}0\n\`\`\``
const scenario = {
  rules: [
    { when: { result: 'responses' }, answer: { text: 'So be it.' } },
    {
      when: { user: '^note (.*)$', step: 0 },
      answer: { tool_calls: [{ name: 'todo', arguments: { todos: [] } }] },
    },
    { when: { user: '^ask' }, answer: { tool_calls: [{ name: 'ask_user_question', arguments: question }] } },
    { when: { user: '^act' }, answer: { tool_calls: [{ name: 'request_user_action', arguments: action }] } },
    // The item of finished work begins with a long line of code.
    { when: { user: '^code' }, answer: { text: CODE } },
    { answer: { text: 'Very well.' } },
  ],
}
const config = {
  agents: {
    assistant: { governance: { require_approval: ['todo'] }, inbox: { task_complete_minutes: 0 } },
  },
}

/** Promise 2.8, 5.5: The inbox shows hidden characters and names the person or service account that acted. */
test('the inbox shows hidden characters in an agent text and names who decided', async () => {
  const server = await startService(makePlace({ scenario, config }))
  const { client } = server
  const machine = await client.call('createServiceAccount', { body: { name: 'judge', scope: 'org' } })
  const judge = createClient({ baseUrl: server.url, token: machine.token })

  const asking = await newSession(client)
  await say(client, asking, 'ask me')
  const asked = await waitFor(client, asking, 0, isType('inbox.input_required'))
  await say(client, await newSession(client), 'act')
  const gated: string[] = []
  for (const text of ['note one', 'note two']) {
    gated.push(await newSession(client))
    await runTurn(client, gated.at(-1)!, text)
  }
  const gateOf = async (session_id: string): Promise<string> =>
    (await client.call('listInbox', { query: { kind: 'governance_gate', session_id } })).items[0]!.id
  const item_id = await gateOf(gated[0]!)
  await judge.call('respondInbox', { params: { item_id }, body: { decision: 'reject' } })

  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/inbox`)
  const hides = (text: string | null): boolean => visibleText(text ?? '') !== text

  const waiting = await (await openItem(page, { kind: 'input_required' })).textContent()
  expect(waiting).toContain('Pay \\u{202E}000,1 now?')
  expect(waiting).toContain('The invoice\\u{200B} says so')
  const request = await openItem(page, { kind: 'action_required' })
  const toDo = await request.textContent()
  expect(toDo).toContain('Unlock \\u{202E}the shed')
  expect(toDo).toContain('Turn the key\\u{200B} twice.')
  // Why it is asked for, where to do it, and each step.
  expect(toDo).toContain('Only you have it.')
  expect(toDo).toContain('It rains.')
  expect(await request.getByRole('link', { name: SITE }).getAttribute('href')).toBe(SITE)
  expect(await request.getByRole('listitem').allTextContents()).toContain('Leave the door open.')

  // On a phone no item is wider than the screen. News is listed, and not counted.
  await runTurn(client, await newSession(client), 'code it')
  await showTab(page, 'news')
  const finished = await openItem(page, { kind: 'task_complete' })
  await finished.locator('pre').first().waitFor()
  await page.setViewportSize(PHONE)
  const ends = `[...document.querySelectorAll('[data-testid="inbox-item"], .inbox-bar *, .page-head *')].map(each =>
    Math.round(each.getBoundingClientRect().right))`
  for (const right of await page.evaluate<number[]>(ends)) expect(right).toBeLessThanOrEqual(PHONE.width)
  await page.getByRole('button', { name: 'Back to the inbox' }).click()
  const rows = `[...document.querySelectorAll('[data-testid="inbox-row"], .page-head *')].map(each =>
    Math.round(each.getBoundingClientRect().right))`
  for (const right of await page.evaluate<number[]>(rows)) expect(right).toBeLessThanOrEqual(PHONE.width)
  await page.setViewportSize(DESKTOP)
  expect(await page.getByTestId('inbox-count').textContent()).toBe('3')

  await showTab(page, 'needs')
  const gate = await openItem(page, { kind: 'governance_gate' })
  await gate.getByTestId('reject').click()
  await gate.getByTestId('reject-send').click()
  await showTab(page, 'decided')
  const outcomes: (string | null)[] = []
  await expect.poll(() => itemRow(page, { kind: 'governance_gate' }).count()).toBe(2)
  for (const row of await itemRow(page, { kind: 'governance_gate' }).all()) {
    await row.getByRole('button').click()
    await row.and(page.locator('[data-open]')).waitFor()
    outcomes.push(await page.getByTestId('inbox-outcome').textContent())
  }
  expect(outcomes.toSorted()).toEqual(['rejected by the service account judge', 'rejected by you'])
  await takePictures(page, 'inbox')
  expect(hides(await page.getByTestId('inbox-list').textContent())).toBe(false)

  // The same texts in the chat, where the question is answered and the action is completed.
  await page.goto(`${server.url}/sessions/${asking}`)
  const card = page.getByTestId('question-card')
  await card.waitFor()
  const shown = await card.textContent()
  expect(shown).toContain('yes\\u{200B}')
  expect(shown).toContain('all \\u{1B}[31mof it')
  expect(hides(shown)).toBe(false)
  await judge.call('answerQuestion', {
    params: { id: asking, tool_call_id: asked.data.tool_call_id },
    body: { responses: [{ question: question.questions[0]!.prompt, answer: 'no' }] },
  })
  await page.goto(`${server.url}/inbox`)
  await showTab(page, 'decided')
  const answered = await openItem(page, { kind: 'input_required' })
  await expect
    .poll(() => answered.getByTestId('inbox-outcome').textContent(), { timeout: PATIENCE_MS })
    .toBe('answered by the service account judge')
  expect(troubles).toEqual([])
})
