/** The session page: calls in the form of their tools, and what answers hold beside prose. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startServer } from './server.ts'
import { newSession, runTurn } from './session.ts'

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

test('calls have the form of their tools; answers have code, formulas, diagrams and wide tables', async () => {
  const server = await startServer(makePlace({ scenario: SCENARIO, config: CONFIG }))
  const { page, troubles } = await openPage(await openBrowser())
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(server.loginUrl)
  await page.waitForURL('**/sessions')
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'work')
  await page.goto(`${server.url}/sessions/${id}`)

  const card = (tool: string) => by(page, 'tool-card', `[data-tool="${tool}"]`)
  await card('terminal').getByText('exit 3').waitFor()
  await card('terminal').locator('summary').first().click()
  const output = card('terminal').locator('[data-testid="output"]')
  expect(await output.textContent()).toBe('plain red')
  expect(await output.locator('.ansi-red').textContent()).toBe('red')
  // The record is there, behind a fold.
  expect(await card('terminal').locator('[data-testid="json-tree"]').count()).toBe(0)
  await card('terminal').locator('[data-testid="tool-record"] summary').click()
  await card('terminal').locator('[data-testid="json-tree"]').first().waitFor()
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
  expect(await code.textContent()).toContain('n69')
  await code.locator('[data-testid="copy"]').click()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(CODE)
  await answer.locator('[data-testid="diagram"] img').waitFor()
  await answer.locator('[data-testid="table-more"]').getByText('14 columns').waitFor()
  await answer.locator('[data-testid="copy-csv"]').click()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toMatch(/^column number 0,column/)
  expect(await answer.locator('[data-testid="no-link"]').textContent()).toBe('a poisoned link')
  expect(await answer.locator('p', { hasText: 'مرحبا' }).getAttribute('dir')).toBe('auto')
  expect(await page.locator('[data-testid="chat-content"] time').count()).toBeGreaterThan(1)

  // A rating is taken back by pressing it again; a bad one may say why.
  await by(page, 'feedback-down').click()
  await by(page, 'feedback-reason').fill('too long')
  await by(page, 'feedback-send').click()
  await by(page, 'feedback-down', '[aria-pressed="true"]').click()
  await by(page, 'feedback-down', '[aria-pressed="false"]').waitFor()
  await takePictures(page, 'answer')
  expect(troubles).toEqual([])
})
