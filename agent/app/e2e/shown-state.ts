/**
 * One state of a session in all views: the record, the list and the header of the page, the tab title, the
 * inbox and the command that lists sessions. A scenario brings a session into each state.
 */
import type { InboxKind, SessionState } from '@cairn/protocol'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type ServerDirs, type RunningService, cairn, makePlace } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
const call = (name: string, args: object) => ({ name, arguments: args })
const action = call('request_user_action', {
  title: 'Log in to the bank',
  instructions: 'Open the page and log in.',
  reason: 'Only you have the second factor.',
})
const question = call('ask_user_question', {
  questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
})

export const placeOfStates = (): ServerDirs =>
  makePlace({
    scenario: {
      rules: [
        {
          when: { schema: 'outcome_verdict' },
          answer: { json: { result: 'blocked', explanation: 'Only you have the key.', feedback: '' } },
        },
        { when: { user: '^ask' }, steps: [{ tool_calls: [question] }, { text: 'So be it.' }] },
        { when: { user: '^act' }, steps: [{ tool_calls: [action] }, { text: 'Thank you.' }] },
        {
          when: { user: '^write' },
          steps: [
            { tool_calls: [call('write_file', { path: 'a.txt', content: 'a' })] },
            { text: 'It waits for you.' },
          ],
        },
        {
          when: { user: '^wait' },
          steps: [
            { tool_calls: [call('terminal', { command: 'until [ -e go ]; do sleep 0.05; done' })] },
            { text: 'Gone.' },
          ],
        },
        { when: { user: '^break' }, answer: { error: { status: 400, message: 'no such thing' } } },
        { answer: { text: 'Done.' } },
      ],
    },
    config: { agents: { assistant: { governance: { require_approval: ['write_file'] } } } },
  })

const WORDS: Record<SessionState, string> = {
  idle: 'Idle',
  running: 'Running',
  needs_answer: 'Needs answer',
  needs_approval: 'Needs approval',
  needs_action: 'Needs action',
  paused: 'Paused',
  failed: 'Failed',
  done: 'Done',
}
const MARKS: Partial<Record<SessionState, string>> = {
  running: 'Running · ',
  needs_answer: 'Question · ',
  needs_approval: 'Approval · ',
  needs_action: 'Action · ',
  paused: 'Paused · ',
  failed: 'Failed · ',
}

/** The kind of inbox item that is open while a session waits. */
const WAITS: Partial<Record<SessionState, InboxKind>> = {
  needs_answer: 'input_required',
  needs_approval: 'governance_gate',
  needs_action: 'action_required',
}
const RESTS: readonly SessionState[] = ['idle', 'done']

export type World = { place: ServerDirs; server: RunningService; page: Page }

/** Expects all views to show this state. */
export async function expectState(
  { place, server, page }: World,
  id: string,
  state: SessionState,
): Promise<void> {
  await page.goto(`${server.url}/sessions/${id}`)
  const head = by(page, 'session-state')
  await expect.poll(() => head.getAttribute('data-state'), POLL).toBe(state)
  expect(await head.textContent()).toBe(WORDS[state])
  const row = by(page, 'recent-session', `[data-session-id="${id}"]`).locator('.dot')
  expect(await row.getAttribute('aria-label'), 'the list says what the head says').toBe(WORDS[state])
  // The title starts with the count of open items.
  const title = (await page.title()).replace(/^\(\d+\) /, '')
  expect(title).toMatch(new RegExp(`^${MARKS[state] ?? '(?!Running|Question|Approval)'}`))
  expect((await server.client.call('getSession', { params: { id } })).state).toBe(state)
  const listed = JSON.parse((await cairn(place, ['sessions', id, '--json'])).stdout) as { state: string }[]
  expect(listed.map(one => one.state)).toEqual([state])
  const { items } = await server.client.call('listInbox', { query: { status: 'pending', session_id: id } })
  const open = items.map(({ kind }) => kind).filter(kind => Object.values(WAITS).includes(kind))
  const waits = WAITS[state]
  if (waits !== undefined) expect(open).toContain(waits)
  else if (RESTS.includes(state)) expect(open).toEqual([])
}
