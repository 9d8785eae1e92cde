/** The session page: calls rendered by tool, and answers with more than prose. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, readLog, runTurn, waitFor } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)

const CODE = Array.from({ length: 70 }, (_, n) => `export const n${n}: number = ${n} // a number`).join('\n')
const ANSWER = `
Formulas: \\(a^2 + b^2 = c^2\\), and it costs $5 to $10.

\`\`\`ts
${CODE}
\`\`\`

\`\`\`mermaid
graph LR
  A[Start] --> B[End]
\`\`\`

| ${Array.from({ length: 14 }, (_, n) => `column number ${n}`).join(' | ')} |
|${'---|'.repeat(14)}
| ${Array.from({ length: 14 }, (_, n) => `value ${n}`).join(' | ')} |

مرحبا بالعالم.

[a poisoned link](javascript:alert(1)) and [a good one](https://example.org)
`
const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const SCENARIO = {
  rules: [
    {
      when: { user: 'work' },
      steps: [
        call('todo', { todos: [{ id: 'a', content: 'Write a file', status: 'in_progress' }] }),
        call('write_file', { path: 'src/a.ts', content: 'const a = 1\nconst b = 2\n' }),
        call('edit_file', {
          path: 'src/a.ts',
          old_string: 'const b = 2',
          new_string: 'const b = 3\nconst c = 4',
        }),
        call('terminal', { command: "printf 'plain \\033[31mred\\033[0m'; exit 3" }),
        call('list_files', { path: 'src' }),
        { text: ANSWER },
      ],
    },
  ],
}
const CONFIG = { agents: { assistant: { saga: { enabled: true } } } }

const DOCK_SCENARIO = {
  rules: [
    { when: { user: 'rejected' }, answer: { text: 'As you like.' } },
    {
      when: { user: 'paint' },
      steps: [
        call('ask_user_question', {
          questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
        }),
        call('terminal', { command: 'rm -r paint' }),
        { text: 'It waits for you.' },
      ],
    },
  ],
}

test('renders calls by tool, and answers with code, formulas, diagrams and wide tables', async () => {
  const server = await startService(makePlace({ scenario: SCENARIO, config: CONFIG }))
  const { page, troubles } = await openPage(await openBrowser())
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'work')
  await page.goto(`${server.url}/sessions/${id}`)

  const card = (tool: string) => by(page, 'tool-card', `[data-tool="${tool}"]`)
  // A command that failed is marked as such, not as done.
  await card('terminal').locator('.chip[data-tone="bad"]').getByText('exit 3').waitFor()
  expect(await card('terminal').locator('[data-state="done"]').count()).toBe(0)
  await card('terminal').locator('summary').first().click()
  const output = card('terminal').locator('[data-testid="output"]')
  expect(await output.textContent()).toBe('plain red')
  expect(await output.locator('.ansi-red').textContent()).toBe('red')
  // The raw record is available in a collapsed section.
  expect(await card('terminal').locator('[data-testid="json-tree"]').count()).toBe(0)
  await card('terminal').locator('[data-testid="tool-record"] summary').click()
  await card('terminal').locator('[data-testid="json-tree"]').first().waitFor()
  // Neighbouring edits are one row.
  await by(page, 'tool-group').getByText('Edit 1 file').click()
  await card('edit_file').locator('summary').first().click()
  await card('edit_file').locator('[data-testid="diff"][data-added="2"][data-removed="1"]').waitFor()
  await card('write_file').locator('summary').first().click()
  await card('write_file').locator('.hljs-keyword').first().waitFor()

  const answer = by(page, 'answer', '[data-final]')
  await answer.locator('.katex').first().waitFor()
  expect(await answer.textContent()).toContain('it costs $5 to $10')
  const code = answer.locator('[data-testid="code-block"][data-language="ts"]')
  await code.locator('.hljs-keyword').first().waitFor()
  await code.getByText('TypeScript').waitFor()
  expect(await code.textContent(), 'folded').not.toContain('n69')
  await code.getByText('Show all 70 lines').click()
  await code.getByText('n69').waitFor()
  await code.locator('[data-testid="copy"]').click()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(CODE)
  await answer.locator('[data-testid="diagram"] img').waitFor()
  await answer.locator('[data-testid="table-more"]').getByText('14 columns').waitFor()
  await answer.locator('[data-testid="copy-csv"]').click()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toMatch(/^column number 0,column/)
  expect(await answer.locator('[data-testid="no-link"]').textContent()).toBe('a poisoned link')
  expect(await answer.locator('p', { hasText: 'مرحبا' }).getAttribute('dir')).toBe('auto')
  expect(await page.locator('[data-testid="chat-content"] time').count()).toBeGreaterThan(1)

  // Clicking a rating again removes it. A negative rating can have a reason.
  await by(page, 'feedback-down').click()
  await by(page, 'feedback-reason').fill('too long')
  await by(page, 'feedback-send').click()
  await by(page, 'feedback-down', '[aria-pressed="true"]').click()
  await by(page, 'feedback-down', '[aria-pressed="false"]').waitFor()
  const ratings = (await readLog(server.client, id)).filter(isType('user.feedback')).map(({ data }) => data)
  expect(ratings.map(({ rating, reason, withdrawn }) => [rating, reason, withdrawn])).toEqual([
    ['down', undefined, undefined],
    ['down', 'too long', undefined],
    ['down', undefined, true],
  ])
  // Toasts would cover the content.
  await page.evaluate(
    `document.querySelectorAll('[data-testid="toast"] button').forEach(close => close.click())`,
  )
  await expect.poll(() => by(page, 'toast').count()).toBe(0)
  await takePictures(page, 'answer')

  // The rail opens by itself with the plan: changes, files and timings. A click opens the event.
  await by(page, 'plan-list').getByText('Write a file').waitFor()
  await by(page, 'rail-changes').click()
  await by(page, 'changed-file', '[data-path="src/a.ts"]').locator('summary').click()
  await by(page, 'rail').locator('[data-testid="diff"][data-added="3"][data-removed="0"]').waitFor()
  await takePictures(page, 'changes')
  await by(page, 'rail-files').click()
  await by(page, 'file-entry').getByText('a.ts').click()
  await by(page, 'file-view').locator('.hljs-keyword').first().waitFor()
  const saved = page.waitForEvent('download')
  await by(page, 'download').click()
  expect((await saved).suggestedFilename()).toBe('a.ts')
  await by(page, 'rail-timeline').click()
  const spans = by(page, 'waterfall').locator('[data-testid="span"]')
  await spans.last().waitFor()
  const kinds = `[...document.querySelectorAll('[data-testid="span"]')].map(bar => bar.dataset.kind)`
  expect(await page.evaluate<string[]>(kinds)).toEqual(
    Array.from({ length: 11 }, (_, n) => (n % 2 === 0 ? 'model' : 'tool')),
  )
  await takePictures(page, 'timeline')
  await spans.nth(1).click()
  await by(page, 'event-detail').getByText('tool.call').first().waitFor()
  // Deltas are folded into their response. A URL of an event that is not listed shows a message.
  expect(await page.locator('[data-event-type="llm.delta"]').count()).toBe(0)
  await by(page, 'show-deltas').click()
  await page.locator('[data-event-type="llm.delta"]').first().waitFor()
  await page.goto(`${server.url}/sessions/${id}/events?id=9999`)
  await by(page, 'toast').getByText('Event 9,999 does not exist yet').waitFor()
  expect(troubles).toEqual([])
})

test('the dock completes, attaches files, recalls, selects choices by number, and decides by key', async () => {
  const server = await startService(
    makePlace({
      scenario: DOCK_SCENARIO,
      config: { agents: { assistant: { governance: { require_approval: ['terminal'] } } } },
    }),
  )
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const id = await newSession(server.client)
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'suggestion').first().waitFor()
  const composer = by(page, 'composer')

  await composer.pressSequentially('/comp')
  await by(page, 'completion').getByText('/compress').waitFor()
  await composer.press('Tab')
  expect(await composer.inputValue()).toBe('/compress ')
  await composer.fill('')

  const png = await page.screenshot({ clip: { x: 0, y: 0, width: 240, height: 120 } })
  await by(page, 'attach-input').setInputFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: png },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes') },
  ])
  await by(page, 'attached', '[data-kind="file"][data-state="ready"]').waitFor()
  await by(page, 'attached', '[data-kind="picture"][data-state="ready"]').waitFor()
  // Pasted and dropped files are attached too. Each can be removed again.
  for (const way of ['paste', 'drop'] as const) {
    await page.evaluate(give(way))
    await by(page, 'attached', '[data-state="ready"]')
      .filter({ hasText: `${way}.txt` })
      .waitFor()
    await page.getByRole('button', { name: `Remove ${way}.txt` }).click()
  }
  await composer.fill('paint it')
  await composer.press('Enter')
  const sent = (await waitFor(server.client, id, 0, isType('user.message'))).data
  expect(sent.attachments).toEqual([
    { path: 'uploads/notes.txt', filename: 'notes.txt', mime_type: 'text/plain', size: 10 },
  ])
  expect(sent.images).toHaveLength(1)

  // A number key selects the choice, and Enter sends it.
  // The choices are said once, with their numbers, in the card.
  await by(page, 'question-choice').nth(1).locator('kbd').getByText('2').waitFor()
  expect(await composer.getAttribute('placeholder')).toBe('Or write your own answer')
  await takePictures(page, 'question')
  await composer.fill('2')
  await page.getByText('Press Enter to answer “blue”').waitFor()
  await composer.press('Enter')
  const answered = await waitFor(server.client, id, 0, isType('ask_user_question.response'))
  expect(answered.data.responses).toMatchObject([{ question: 'Which colour?', answer: 'blue' }])

  // An approval shows the command. R asks for a reason, which is sent to the agent.
  const approval = by(page, 'approval-card', '[data-state="open"]')
  await approval.locator('.command-line').getByText('rm -r paint').waitFor()
  // The message field keeps the focus, so that a letter that is typed does not decide.
  expect(await page.evaluate<string>('document.activeElement.dataset.testid')).toBe('composer')
  await takePictures(page, 'approval')
  await composer.press('ArrowUp')
  expect(await composer.inputValue()).toBe('paint it')
  await composer.fill('read @up')
  await by(page, 'completion').getByText('uploads/notes.txt').click()
  expect(await composer.inputValue()).toBe('read @uploads/notes.txt ')
  await composer.fill('')
  await page.evaluate('document.activeElement.blur()')
  await page.keyboard.press('r')
  await by(page, 'reject-reason').fill('it is wet')
  await by(page, 'reject-reason').press('Enter')
  await by(page, 'approval-card', '[data-state="reject"]').waitFor()
  const told = await waitFor(
    server.client,
    id,
    answered.id,
    event => event.type === 'user.message' && event.data.synthetic === 'governance_decision',
  )
  expect(told.data).toMatchObject({ content: expect.stringContaining('it is wet') as string })
  expect(troubles).toEqual([])
})

/** Pastes a file into the composer or drops it there. Runs in the page, so it is a string. */
const give = (way: 'paste' | 'drop') => `(() => {
  const data = new DataTransfer()
  data.items.add(new File(['text'], '${way}.txt', { type: 'text/plain' }))
  const event = ${
    way === 'paste'
      ? "new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data })"
      : "new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data })"
  }
  document.querySelector('[data-testid="composer"]').dispatchEvent(event)
})()`
