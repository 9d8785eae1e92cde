import { decodeEvent, EVENT_TYPES, typesWith } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { deliveredTypes, render, RENDERED, VISIBLE } from '../src/render.ts'

const event = (type: string, data: Record<string, unknown>) =>
  decodeEvent(JSON.stringify({ id: 1, session_id: 's', type, created_at: '2026-11-22T12:00:00.000Z', data }))
const message = (more: Record<string, unknown>) => ({
  message: { role: 'assistant', content: 'hi', ...more },
  model: 'm',
  input_tokens: 1,
  output_tokens: 1,
  reasoning_tokens: 0,
  cache_read_tokens: 0,
  finish_reason: 'stop',
  context_window: 1,
})
const gate = {
  tool_name: 'terminal',
  tool_call_id: 'c',
  arguments_excerpt: '{"command":"ls"}',
  deny_reason: 'needs approval',
  policy_id: 'p',
  arguments: { command: 'ls' },
}

/** Promise 15.1: Only events that the contract marks visible reach a platform. */
test('the renderer handles exactly the event types that the contract marks for channels', () => {
  expect(RENDERED.toSorted()).toEqual(typesWith('channel').toSorted())
  expect(VISIBLE).not.toContain('code.run_progress')
  expect(VISIBLE).not.toContain('llm.thinking')
  expect(VISIBLE).not.toContain('user.message')
})

test('an event of any other type renders nothing, whatever it contains', () => {
  for (const type of EVENT_TYPES.filter(each => !VISIBLE.includes(each)))
    expect(
      render(event(type, { text: 'canary', content: 'canary', reasoning: 'canary' }), { isLinked: true }),
    ).toEqual([])
})

test('an answer is shown, and a response with tool calls is not', () => {
  expect(render(event('llm.response', message({})), { isLinked: false })).toEqual([
    { type: 'answer', text: 'hi' },
  ])
  const call = {
    id: 'c',
    type: 'function',
    function: { name: 'terminal', arguments: '{"command":"canary"}' },
  }
  expect(render(event('llm.response', message({ tool_calls: [call] })), { isLinked: true })).toEqual([])
})

test.each(['\n \n', '\u00a0\t', '\u200b\u2060'])(
  'an answer of blanks %j sends nothing, and a scheduled run with such a result is reported',
  content => {
    const reader = { isLinked: false }
    expect(render(event('llm.response', message({ content })), reader)).toEqual([])
    expect(render(event('loop.result', { content, outcome: 'success' }), reader)).toEqual([
      { type: 'answer', text: 'The scheduled run ended without a result.' },
    ])
  },
)

test('an approval shows its arguments only to a linked user', () => {
  const [shown] = render(event('inbox.governance_gate', gate), { isLinked: true })
  expect(shown).toMatchObject({ type: 'approval', ask: { kind: 'gate', choices: ['Approve', 'Reject'] } })
  expect(shown?.text).toContain('"command": "ls"')
  expect(render(event('inbox.governance_gate', gate), { isLinked: false })).toEqual([
    { type: 'state', text: 'Waiting for an operator.' },
  ])
})

test('arguments too long to show in full have no buttons', () => {
  const long = { ...gate, arguments: { command: 'x'.repeat(4000) } }
  const [shown] = render(event('inbox.governance_gate', long), { isLinked: true })
  expect(shown?.ask).toBeUndefined()
})

test('a failure shows its category and no internal details', () => {
  const failed = { reason: 'retries', error_category: 'provider_error', error: 'canary', retryable: true }
  const [shown] = render(event('session.fail', failed), { isLinked: true })
  expect(shown?.text).toBe('Something went wrong (provider_error). Send a message to try again.')
})

test('a coding run update is its own message if the platform cannot edit, at the configured interval', () => {
  const update = (minutes?: number) =>
    event('code.run_channel_update', {
      run_id: 'r',
      agent: 'cairn',
      text: 'Still working',
      ...(minutes === undefined ? {} : { minutes }),
    })
  const sentAt = (updateEveryMin: number) =>
    [1, 2, 9, 10, 11, 20].filter(
      minutes => render(update(minutes), { isLinked: false, updateEveryMin }).length > 0,
    )
  expect(render(update(1), { isLinked: false, updateEveryMin: 1 })).toEqual([
    { type: 'state', text: 'Still working' },
  ])
  expect(sentAt(1)).toEqual([1, 2, 9, 10, 11, 20])
  expect(sentAt(10)).toEqual([10, 20])
  // Events of earlier versions have no minutes.
  expect(render(update(), { isLinked: false, updateEveryMin: 1 })).toHaveLength(1)
  expect(render(update(1), { isLinked: false })).toEqual([])
  expect(deliveredTypes({})).not.toContain('code.run_channel_update')
  expect(deliveredTypes({ updateEveryMin: 1 })).toContain('code.run_channel_update')
})
