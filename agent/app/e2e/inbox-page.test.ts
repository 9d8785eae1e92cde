/** The inbox page: an agent's texts with hidden characters made visible, and who decided. */
import { createClient } from '@cairn/client'
import { visibleText } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
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
const action = {
  title: `Unlock ${OVERRIDE}the shed`,
  instructions: `Turn the key${HIDDEN} twice.`,
  reason: 'Only you have it.',
}
const scenario = {
  rules: [
    { when: { result: 'responses' }, answer: { text: 'So be it.' } },
    {
      when: { user: '^note (.*)$', step: 0 },
      answer: { tool_calls: [{ name: 'todo', arguments: { todos: [] } }] },
    },
    { when: { user: '^ask' }, answer: { tool_calls: [{ name: 'ask_user_question', arguments: question }] } },
    { when: { user: '^act' }, answer: { tool_calls: [{ name: 'request_user_action', arguments: action }] } },
    { answer: { text: 'Very well.' } },
  ],
}
const config = { agents: { assistant: { governance: { require_approval: ['todo'] } } } }

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
  await page.waitForURL('**/sessions')
  await page.goto(`${server.url}/inbox`)
  const item = (kind: string, n = 0) => page.locator(`[data-testid="inbox-item"][data-kind="${kind}"]`).nth(n)
  const hides = (text: string | null): boolean => visibleText(text ?? '') !== text

  const waiting = await item('input_required').textContent()
  expect(waiting).toContain('Pay \\u{202E}000,1 now?')
  expect(waiting).toContain('The invoice\\u{200B} says so')
  const toDo = await item('action_required').textContent()
  expect(toDo).toContain('Unlock \\u{202E}the shed')
  expect(toDo).toContain('Turn the key\\u{200B} twice.')

  await item('governance_gate').getByTestId('reject').click()
  await page.getByTestId('inbox-all').click()
  const outcomes = page.getByTestId('inbox-outcome')
  await expect
    .poll(() => outcomes.allTextContents().then(texts => texts.toSorted()))
    .toEqual(['rejected by you', 'rejected by the service account judge'].toSorted())
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
  await page.getByTestId('inbox-all').click()
  await expect
    .poll(() => item('input_required').getByTestId('inbox-outcome').textContent(), { timeout: PATIENCE_MS })
    .toBe('answered by the service account judge')
  expect(troubles).toEqual([])
})
