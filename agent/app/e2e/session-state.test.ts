/**
 * One state of a session in all views: the record, the list and the header of the page, the tab title, the
 * command that lists sessions, and the exit code of `cairn send`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneIn } from '@cairn/protocol/test/sample'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openItem } from './inbox.ts'
import { openBrowser, openPage } from './browser.ts'
import { cairn, startServer, startService } from './server.ts'
import { newSession, PATIENCE_MS, say, waitFor } from './session.ts'
import { expectState, placeOfStates } from './shown-state.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)

/**
 * Promise 4.10: Session record, list, header, tab title and commands show the same state.
 * Promise 12.4: `cairn send` exits with 6 when the session then waits for a person, including for an
 * approval.
 */
test('record, list, header, tab title and commands show the same state, for every state', async () => {
  const at = placeOfStates()
  const server = await startService(at)
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const world = { place: at, server, page }
  const sent = async (text: string): Promise<{ code: number | null; id: string; told: string }> => {
    const { code, stdout } = await cairn(at, ['send', '--json', text])
    const { session_id, state } = JSON.parse(stdout) as { session_id: string; state: string }
    return { code, id: session_id, told: state }
  }

  // A session without a title and a message is in no list.
  const { id: unused } = await server.client.call('createSession', { body: { title: 'Unused' } })
  await expectState(world, unused, 'idle')

  const turns = [
    ['hello', 'done', 0],
    ['ask me', 'needs_answer', 6],
    ['write it', 'needs_approval', 6],
    ['act on it', 'needs_action', 6],
    ['break it', 'failed', 1],
  ] as const
  for (const [text, state, code] of [...oneIn(2, turns), ['/goal ship it', 'needs_action', 6]] as const) {
    const end = await sent(text)
    expect([end.code, end.told]).toEqual([code, state])
    await expectState(world, end.id, state)
  }

  // The inbox shows what a blocked goal is waiting for, in the words of its verdict.
  await page.goto(`${server.url}/inbox`)
  const blocked = await openItem(page, { text: 'Goal blocked: ship it' })
  await blocked.getByText('Only you have the key.').waitFor()
  expect((await cairn(at, ['inbox'])).stdout).toContain('Goal blocked: ship it')

  const held = await newSession(server.client)
  const after = await say(server.client, held, 'wait for it')
  await waitFor(server.client, held, after, event => event.type === 'tool.call')
  await expectState(world, held, 'running')
  // Esc in the composer stops the turn once the page is connected.
  await by(page, 'stop', ':enabled').waitFor()
  await by(page, 'composer').press('Escape')
  await by(page, 'session-state', '[data-state="idle"]').waitFor()
  expect(await by(page, 'stop').count(), 'what is stopped cannot be stopped').toBe(0)
  expect(await by(page, 'pause').count(), 'or paused').toBe(0)
  await expectState(world, held, 'idle')

  const second = await say(server.client, held, 'wait again')
  await waitFor(server.client, held, second, event => event.type === 'tool.call')
  await by(page, 'pause').click()
  await by(page, 'session-state', '[data-state="paused"]').waitFor()
  await expectState(world, held, 'paused')
  writeFileSync(join(at.workspaces, held, 'go'), '')
  await by(page, 'resume').click()
  await by(page, 'session-state', '[data-state="done"]').waitFor()
  await expectState(world, held, 'done')
  expect(troubles).toEqual([])
})

test('a session resumed with nothing to do becomes idle, and the page marks a state as last known', async () => {
  const at = placeOfStates()
  const server = await startServer(at)
  const { page } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const id = await newSession(server.client)
  await server.client.call('pauseSession', { params: { id } })
  await page.goto(`${server.url}/sessions/${id}`)
  await by(page, 'resume').click()
  await waitFor(server.client, id, 0, event => event.type === 'harness.wake')
  await expectState({ place: at, server, page }, id, 'idle')
  // A page that lost its server marks the state as last known.
  await server.kill()
  await by(page, 'session-state').getByText('Idle (last known)').waitFor()
})

test('a call held for approval is not shown as failed or completed, and the session needs approval', async () => {
  const at = placeOfStates()
  const server = await startService(at)
  const { page } = await openPage(await openBrowser())
  const { stdout } = await cairn(at, ['send', '--json', 'write it'])
  const { session_id } = JSON.parse(stdout) as { session_id: string }
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/sessions/${session_id}`)
  await by(page, 'session-state', '[data-state="needs_approval"]').waitFor()
  await by(page, 'tab-events').click()
  const turn = by(page, 'turn-row').first()
  await turn.getByText('1 held for approval').waitFor()
  expect(await turn.textContent()).not.toContain('failed')
  // The row of the call shows the same state until the decision.
  const result = page.locator('.event-row[data-event-type="tool.result"]').first()
  const drawn = async () => [await result.getAttribute('data-level'), await result.textContent()]
  const words = expect.stringMatching(/write_file held for approval$/) as string
  expect(await drawn()).toEqual(['waiting', words])
  const pending = { session_id, status: 'pending', kind: 'governance_gate' } as const
  const [item] = (await server.client.call('listInbox', { query: pending })).items
  await server.client.call('respondInbox', { params: { item_id: item!.id }, body: { decision: 'reject' } })
  await expect.poll(drawn, { timeout: PATIENCE_MS }).toEqual([null, words])
})
