/**
 * The built-in coding agent in a real sandbox, through the broker, and its card in a real Chromium: the files
 * that it changes, the person's decisions, no key or token anywhere, and no process after a stop.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { isType, newSession, PATIENCE_MS, readLog, say, waitFor } from './session.ts'

const command = (text: string) => ({ tool_calls: [{ name: 'terminal', arguments: { command: text } }] })
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'A file' } },
    {
      when: { system: 'You are a coding agent', user: 'linger' },
      steps: [command('sleep 3607'), { text: 'x' }],
    },
    {
      when: { system: 'You are a coding agent', user: 'approved the call' },
      steps: [command('env > env.txt; echo made in the box > made.txt'), { text: 'The file is made.' }],
    },
    {
      when: { system: 'You are a coding agent', user: 'make the file' },
      steps: [
        { text: 'I make it.', ...command('env > env.txt; echo made in the box > made.txt') },
        { text: 'It waits for you.' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}
const config = { agents: { assistant: { governance: { require_approval: ['code.execute'] } } } }
const POLL = { timeout: PATIENCE_MS }

/**
 * Promise 14.18: The Changes view of a session shows line by line what a coding run changed.
 * Promise 14.12, 14.18: The built-in coding agent runs in a sandbox, writes no token, and a stop ends its
 * processes within 10 s.
 */
test('a coding agent works in its sandbox, a person decides on the page, and no process outlives a stop', async () => {
  const place = makePlace({ scenario, config })
  const server = await startService(place)
  const { client } = server
  const id = await newSession(client)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions/${id}`)
  await say(client, id, '/code make the file')

  const card = page.locator('[data-testid="code-card"]')
  await card.waitFor()
  await page.locator('[data-testid="approve"]').click()
  await waitFor(client, id, 0, isType('code.run_result'))
  await expect.poll(() => card.getAttribute('data-state'), POLL).toBe('done')
  const events = await readLog(client, id)
  expect(checkHistory(events)).toEqual([])
  const workspace = join(place.workspaces, id)
  expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toBe('made in the box\n')

  // The agent's commands see no broker token, and no stored file contains one.
  const seen = readFileSync(join(workspace, 'env.txt'), 'utf8')
  expect(seen).toContain('PATH=')
  expect(seen + JSON.stringify(events) + server.log()).not.toMatch(/cairn_run_/)
  const result = events.findLast(event => event.type === 'code.run_result')
  expect(result?.data).toMatchObject({ error: null, final_message: expect.stringContaining('made') })
  expect(result?.type === 'code.run_result' && result.data.input_tokens).toBeGreaterThan(0)

  await page.evaluate(axe.source)
  const violations = await page.evaluate<unknown[]>(
    `axe.run('[data-testid="code-card"]').then(result => result.violations)`,
  )
  expect(violations).toEqual([])
  await takePictures(page, 'code-run')

  // Its changes, line by line.
  await page.goto(`${server.url}/sessions/${id}?rail=changes`)
  const changes = page.locator('[data-testid="run-changes"]')
  const made = changes.locator('[data-path="made.txt"]')
  await made.locator('summary').click()
  await made.locator('.diff-line[data-sign="+"]').getByText('made in the box').waitFor()
  await made.getByText('New file').waitFor()
  expect(await changes.locator('[data-testid="changed-file"]').count()).toBe(2)

  // A fork links to the changes made before it.
  const fork = await client.call('forkSession', {
    params: { id },
    body: { event_id: events.at(-1)!.id },
  })
  await page.goto(`${server.url}/sessions/${fork.id}?rail=changes`)
  await page.getByText('No files changed').waitFor()
  await page.locator('[data-testid="changes-before"] a').click()
  await page.waitForURL(url => url.pathname.endsWith(id) && url.search === '?rail=changes')
  await made.locator('summary').click()
  await made.locator('.diff-line[data-sign="+"]').getByText('made in the box').waitFor()
  expect(troubles).toEqual([])

  const { last_event_id } = await client.call('getSession', { params: { id } })
  await say(client, id, '/code linger')
  await waitFor(client, id, last_event_id, isType('code.run_progress'))
  const lives = (): string[] =>
    execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
      .split('\n')
      .filter(line => line.includes(join(place.workspaces, id)))
  expect(lives()).not.toEqual([])
  const stopped = performance.now()
  await client.call('stopSession', { params: { id } })
  await waitFor(client, id, last_event_id, isType('code.run_result'))
  await expect.poll(lives, { ...POLL, interval: 100 }).toEqual([])
  expect(performance.now() - stopped).toBeLessThan(10_000)
})
