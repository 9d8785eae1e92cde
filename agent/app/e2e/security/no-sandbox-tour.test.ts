/** The demo on a machine without a sandbox, from the first message to the last answer. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from '../browser.ts'
import { onlyPrograms } from '../programs.ts'
import { makePlace, startService } from '../server.ts'
import { endsTurn, isType, readLog, waitFor } from '../session.ts'

test('the demo runs to its end without a sandbox, with the approval of another tool', async () => {
  const place = onlyPrograms(makePlace())
  const server = await startService(place)
  const { page, troubles } = await openPage(await openBrowser())
  const by = (id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
  await page.goto(server.loginUrl)
  await by('sandbox-notice').getByText('No terminal').waitFor()
  await by('home-task').fill('Show me what you can do')
  await by('home-task').press('Enter')
  await page.waitForURL('**/sessions/*')
  const id = /\/sessions\/([^/?]+)/.exec(page.url())?.[1] ?? ''
  await by('question-card', '[data-state="open"]').waitFor()
  await page.getByText('No browser is available').waitFor()
  await by('question-choice').first().click()
  await by('question-submit').click()
  await by('approval-card', '[data-state="open"]').locator('[data-testid="approve"]').click()
  await page.getByText('your answer is the last line of').waitFor()
  const asked = (await readLog(server.client, id)).findLast(isType('user.message'))!.id
  await waitFor(server.client, id, asked, endsTurn)
  expect(readFileSync(join(place.workspaces, id, 'tour/notes.md'), 'utf8')).toMatch(/- Logs do not forget\n$/)
  expect(troubles).toEqual([])
})
