import { SESSION_STATES, SESSION_STATUSES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { canPause, isInTurn, shownState, STATE_WORDS, stateWord, titleMark } from './session-state.tsx'

test.each(SESSION_STATES)('list, header and tab title agree on %s', state => {
  const session = { state, status: 'active', open_children: 0 } as const
  // The list's dot and the header have the same word. The archive has its own.
  expect(stateWord(session)).toBe(STATE_WORDS[state])
  expect(stateWord({ ...session, status: 'archived' })).toBe('Archived')
  // The title has a mark if a person is needed, a turn is running, or the session failed.
  const calls = state !== 'idle' && state !== 'done'
  expect(titleMark(session) !== '').toBe(calls)
  const needed = titleMark(session).replace(' · ', '').toLowerCase()
  if (state.startsWith('needs_')) expect(`needs_${needed === 'question' ? 'answer' : needed}`).toBe(state)
  // A session that can be paused is never shown as idle or done.
  for (const status of SESSION_STATUSES) if (isInTurn({ state, status })) expect(calls).toBe(true)
})

test('a session whose turn has ended is running while its workers are', () => {
  const session = { state: 'done', status: 'completed', open_children: 1 } as const
  expect([shownState(session), stateWord(session), titleMark(session)]).toEqual([
    'running',
    'Running, 1 worker',
    'Running · ',
  ])
  expect(shownState({ ...session, open_children: 0 })).toBe('done')
  expect(shownState({ ...session, status: 'archived' })).toBe('archived')
})

test('a session can be paused after its turn while it has open workers', () => {
  for (const status of ['completed', 'failed'] as const) {
    const session = { state: status === 'failed' ? 'failed' : 'done', status, open_children: 2 } as const
    expect(canPause(session)).toBe(true)
    expect(canPause({ ...session, open_children: 0 })).toBe(false)
    expect(canPause({ ...session, state: 'paused', status: 'paused' })).toBe(false)
  }
})
