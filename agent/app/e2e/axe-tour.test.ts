/**
 * Checks panels, dialogs and the administration against all axe-core rules, at three widths, in light and in
 * dark. Runs with CAIRN_TESTS=all.
 */
import { expect, test } from 'vitest'
import { createLooks } from './axe-look.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { newSession, runTurn } from './session.ts'

const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const scenario = {
  rules: [
    {
      when: { user: 'work' },
      steps: [
        call('todo', { todos: [{ id: 'a', content: 'Write a file', status: 'in_progress' }] }),
        call('write_file', { path: 'src/a.ts', content: 'const a = 1\nconst b = 2\n' }),
        call('edit_file', { path: 'src/a.ts', old_string: 'const b = 2', new_string: 'const b = 3' }),
        call('create_artifact', {
          name: 'Beans',
          spec: { kind: 'table', columns: ['Bean', 'Rows'], rows: [['red', 3]] },
        }),
        { text: 'Done.' },
      ],
    },
  ],
}

test('axe finds no violation in the side panels and dialogs of the chat', async () => {
  const server = await startService(makePlace({ scenario, config: { auth: { share_days: 1 } } }))
  const { page } = await openPage(await openBrowser())
  const { load, look, found } = createLooks(page, server.url)
  const by = (id: string) => page.locator(`[data-testid="${id}"]`)
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'work')
  for (const [rail, ready] of [
    ['plan', '[data-testid="plan-list"]'],
    ['changes', '[data-testid="changed-file"]'],
    ['files', '[data-testid="file-entry"]'],
    ['artifacts', '[data-testid="rail"] [data-testid="artifact"]'],
    ['timeline', '[data-testid="span"]'],
  ] as const) {
    await load(`/sessions/${id}?rail=${rail}`, ready)
    if (rail === 'changes') await by('changed-file').locator('summary').click()
    if (rail === 'files') {
      await by('file-entry').last().click()
      await by('file-view').waitFor()
    }
    await look(`rail: ${rail}`)
  }
  await load('/sessions', '[data-testid="session-item"]')
  await by('session-filters').click()
  await page.locator('.filters').waitFor()
  await look('filters')
  await by('session-search').fill('work')
  await by('search-hit').first().waitFor()
  await look('results of a search')

  await load(`/sessions/${id}/run`, '[data-testid="run"][data-ready]')
  await by('run-row').filter({ hasText: 'Edit' }).first().click()
  await by('framed-step').waitFor()
  await look('run')

  // Each is opened by the control that a person would click.
  await load('/sessions', '[data-testid="session-item"]')
  const inMenu = async (menu: string, entry: string) => {
    await by(menu).first().click()
    await page.getByRole('menuitem', { name: entry }).waitFor()
    await page.getByRole('menuitem', { name: entry }).click()
    await page.getByRole('dialog').waitFor()
    await look(`dialog: ${entry}`)
    expect(await page.getByRole('dialog').count(), `${entry} is still asked after all widths`).toBe(1)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await inMenu('session-menu', 'Rename')
  await inMenu('session-menu', 'Archive')
  await inMenu('session-menu', 'Share')
  await inMenu('account', 'Set password')
  await page.keyboard.press('Control+k')
  await by('palette-option').first().waitFor()
  await look('palette')
  await page.keyboard.press('Escape')
  const { token } = await server.client.call('createShare', { params: { id } })
  await page.goto('about:blank')
  await load(`/shared#${token}`, '[data-testid="shared-answer"]')
  await look('shared')
  expect(found, found.join('\n')).toEqual([])
})

test('axe finds no violation in the administration', async () => {
  const server = await startService(makePlace())
  const { page } = await openPage(await openBrowser())
  const { load, look, found } = createLooks(page, server.url)
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await runTurn(server.client, await newSession(server.client), 'hello')
  await server.client.call('createServiceAccount', { body: { name: 'judge', scope: 'org' } })
  await load('/admin/users', '[data-testid="users"]')
  await look('users')
  await load('/admin/accounts', '[data-testid="accounts"]')
  await look('service accounts')
  await load('/admin/usage', '[data-testid="usage"]')
  await look('use and cost')
  await page.emulateMedia({ colorScheme: 'light' })
  await takePictures(page, 'admin')
  await load('/admin/health', '[data-testid="health"]')
  await look('agents and health')
  expect(found, found.join('\n')).toEqual([])
})
