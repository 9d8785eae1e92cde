/** Tests of the history checker itself: it finds every kind of broken history. */
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { type History, judge } from './history.ts'

const turn = { turn_id: 't', iteration_index: 0 }
const usage = {
  model: 'm',
  input_tokens: 1,
  output_tokens: 1,
  reasoning_tokens: 0,
  cache_read_tokens: 0,
  finish_reason: 'stop',
  context_window: 1,
}
const good = (): History => {
  const events: [string, object][] = [
    ['user.message', { content: 'job a' }],
    ['harness.wake', { worker_id: 'w', cursor: 0 }],
    ['llm.request', { model: 'm', ...turn }],
    [
      'llm.response',
      {
        message: {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{}' } }],
        },
        ...usage,
        ...turn,
      },
    ],
    [
      'tool.call',
      { tool_call_id: 'c1', name: 'terminal', arguments: { command: 'echo a.1 >> executions.txt' } },
    ],
    ['tool.result', { tool_call_id: 'c1', name: 'terminal', content: '{"exit_code":0}', elapsed_ms: 3 }],
    ['iteration.summary', { ...turn, summary: 's', tool_call_ids: ['c1'], started_at: 'a', ended_at: 'b' }],
    ['llm.request', { model: 'm', ...turn, iteration_index: 1 }],
    [
      'llm.response',
      { message: { role: 'assistant', content: 'Done.' }, ...usage, ...turn, iteration_index: 1 },
    ],
    [
      'iteration.summary',
      { ...turn, iteration_index: 1, summary: 's', tool_call_ids: [], started_at: 'a', ended_at: 'b' },
    ],
    ['turn.summary', { ...turn, iteration_index: 1, recap: 'r', artifacts: [] }],
    ['session.complete', { reason: 'completed' }],
  ]
  const log = events.map(([type, data], at) => ({
    id: at + 1,
    session_id: 's',
    type,
    created_at: '2026-01-01T00:00:00.000Z',
    data,
  })) as SessionEvent[]
  return {
    id: 's',
    status: 'completed',
    log,
    executions: ['a.1'],
    acknowledged: [{ id: 1, content: 'job a' }],
    seen: new Map(log.map(event => [event.id, JSON.stringify(event)])),
  }
}
const without = (history: History, id: number): History => ({
  ...history,
  log: history.log.filter(event => event.id !== id),
})

test('reports no problem in a valid history', () => {
  expect(judge(good())).toEqual([])
})

test.each<[string, (history: History) => History, RegExp]>([
  ['a gap', history => without(history, 2), /expected event 2, the log has 3/],
  [
    'a lost message',
    history => ({ ...history, acknowledged: [{ id: 1, content: 'job b' }] }),
    /acknowledged message 1 "job b" is now/,
  ],
  [
    'a changed event',
    history => ({ ...history, seen: new Map([[2, '{"id":2}']]) }),
    /a reader saw \{"id":2\}/,
  ],
  [
    'an event that vanished',
    history => ({ ...history, seen: new Map([[13, '{}']]) }),
    /as event 13, the log has undefined/,
  ],
  ['a command run twice', history => ({ ...history, executions: ['a.1', 'a.1'] }), /a\.1 ran more than once/],
  [
    'a command without a call on disk',
    history => ({ ...history, executions: ['a.1', 'b.1'] }),
    /b\.1 ran without a tool\.call/,
  ],
  ['a result that lies', history => ({ ...history, executions: [] }), /says that a\.1 ran, and it did not/],
  ['a call without result', history => without(history, 6), /c1/],
  ['a turn without end', history => without(history, 12), /settled|turn/],
  ['a session left active', history => ({ ...history, status: 'active' }), /the session is active/],
])('finds %s', (_, spoil, expected) => {
  expect(judge(spoil(good())).join('\n')).toMatch(expected)
})

/** A turn whose runners die before the model answers, until the session is abandoned. */
const givenUp = (deaths: number): History => {
  const attempt = [
    ['harness.wake', { worker_id: 'w', cursor: 0 }],
    ['llm.request', { model: 'm', ...turn }],
  ] as const
  const events: (readonly [string, object])[] = [
    ['user.message', { content: 'job a' }],
    ...attempt,
    ...Array.from(
      { length: deaths },
      () => [['harness.recovered', { recovered_by: 'w', stale_seconds: 1 }], ...attempt] as const,
    ).flat(),
    [
      'session.fail',
      {
        reason: 'recovery_loop',
        error_category: 'recovery_loop',
        attempts: deaths,
        retryable: false,
        error: 'e',
      },
    ],
  ]
  const log = events.map(([type, data], at) => ({
    id: at + 1,
    session_id: 's',
    type,
    created_at: '2026-01-01T00:00:00.000Z',
    data,
  })) as SessionEvent[]
  return { id: 's', status: 'failed', log, executions: [], acknowledged: [], seen: new Map() }
}

test('accepts an abandoned session after three deaths without progress, but not earlier', () => {
  expect(judge(givenUp(3))).toEqual([])
  expect(judge(givenUp(2)).join('\n')).toMatch(/a turn failed/)
  expect(judge({ ...givenUp(3), status: 'completed' }).join('\n')).toMatch(/its log says failed/)
})
