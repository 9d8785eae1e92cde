import { expect, test } from 'vitest'
import type { EventType, ReadData, SessionEvent } from '@cairn/protocol'
import type { ChatItem } from './chat-item.ts'
import { emptyConversation, foldConversation } from '../conversation/conversation.ts'
import { type SessionView, emptySessionView, foldSessionView } from './session-view.ts'

type Entry = { [T in EventType]: [T, ReadData<T>] }[EventType]
const log = (...entries: Entry[]): SessionEvent[] =>
  entries.map(
    ([type, data], index) =>
      ({
        id: index + 1,
        session_id: 's',
        type,
        created_at: '2026-01-01T00:00:00.000Z',
        data,
      }) as unknown as SessionEvent,
  )
const fold = (...entries: Entry[]): SessionView => foldSessionView(emptySessionView, log(...entries))
const kinds = (view: SessionView) => view.items.map(item => item.kind)
const only = <K extends ChatItem['kind']>(view: SessionView, kind: K) =>
  view.items.filter((item): item is Extract<ChatItem, { kind: K }> => item.kind === kind)

const at = { turn_id: 't', iteration_index: 0 }
const usage = {
  model: 'demo/m',
  input_tokens: 10,
  output_tokens: 5,
  reasoning_tokens: 0,
  cache_read_tokens: 0,
  context_window: 100,
}
const gate = {
  tool_name: 'terminal',
  tool_call_id: 'c1',
  arguments_excerpt: '{}',
  deny_reason: 'asks first',
  policy_id: 'require_approval:terminal',
}

test('chunks of an answer extend one item, and the response completes it', () => {
  const streaming = fold(
    ['llm.delta', { content: 'Hel', ...at }],
    ['llm.delta', { content: 'lo', ...at }],
    ['llm.delta', { reasoning: 'hm', ...at }],
  )
  expect(only(streaming, 'answer')).toMatchObject([
    { content: 'Hello', reasoning: 'hm', streaming: true, event_id: 0 },
  ])
  const done = fold(
    ['llm.delta', { content: 'Hel', ...at }],
    [
      'llm.response',
      {
        message: { role: 'assistant', content: 'Hello!' },
        finish_reason: 'stop',
        cost_usd: 0.25,
        ...usage,
        ...at,
      },
    ],
  )
  expect(only(done, 'answer')).toMatchObject([
    { content: 'Hello!', streaming: false, event_id: 2, cost_usd: 0.25 },
  ])
  expect(done).toMatchObject({
    input_tokens: 10,
    output_tokens: 5,
    cost_usd: 0.25,
    context_tokens: 15,
    context_window: 100,
  })
})

test('counts an event once, whether a batch or an event of one is repeated', () => {
  const events = log(['user.message', { content: 'one' }], ['user.message', { content: 'two' }])
  const view = foldSessionView(emptySessionView, [...events, ...events])
  expect([view.message_count, view.items.length]).toEqual([2, 2])
  expect(foldSessionView(view, events)).toBe(view)
})

test('a retried call discards the chunks that were shown', () => {
  expect(
    only(
      fold(
        ['llm.delta', { content: 'half', ...at }],
        ['llm.delta', { reset: true, ...at }],
        ['llm.delta', { content: 'whole', ...at }],
      ),
      'answer',
    ),
  ).toMatchObject([{ content: 'whole' }])
})

test('a tool card goes from asked to running to its end', () => {
  const asked: Entry = [
    'llm.response',
    {
      message: {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } },
        ],
      },
      finish_reason: 'tool_calls',
      ...usage,
      ...at,
    },
  ]
  const called: Entry = ['tool.call', { tool_call_id: 'c1', name: 'read_file', arguments: { path: 'a' } }]
  const ended = (content: string, elapsed_ms: number): Entry => [
    'tool.result',
    { tool_call_id: 'c1', name: 'read_file', content, elapsed_ms },
  ]
  const status = (...entries: Entry[]) => only(fold(...entries), 'tool').map(item => item.status)
  expect(status(asked)).toEqual(['asked'])
  expect(status(asked, called)).toEqual(['running'])
  expect(status(asked, called, ended('text', 4))).toEqual(['done'])
  expect(status(asked, called, ended('{"error":"Tool execution failed: no"}', 4))).toEqual(['failed'])
  expect(status(asked, called, ended('{"error":"Blocked: no"}', 0))).toEqual(['refused'])
})

test('an approval card shows the decision, wherever it was made', () => {
  expect(only(fold(['inbox.governance_gate', gate]), 'approval')).toMatchObject([{ decision: null }])
  const decided = fold(
    ['inbox.governance_gate', gate],
    [
      'user.message',
      {
        content: '…',
        synthetic: 'governance_decision',
        tool_call_id: 'c1',
        metadata: { decision: 'reject' },
      },
    ],
  )
  expect(only(decided, 'approval')).toMatchObject([{ decision: 'reject' }])
})

test('a question shows its answers, and is cancelled if its call ended without one', () => {
  const asked: Entry = ['inbox.input_required', { tool_call_id: 'q', questions: [{ prompt: 'Which?' }] }]
  expect(
    only(
      fold(asked, [
        'ask_user_question.response',
        { tool_call_id: 'q', responses: [{ question: 'Which?', answer: 'this' }] },
      ]),
      'question',
    ),
  ).toMatchObject([{ responses: [{ answer: 'this' }], cancelled: false }])
  expect(
    only(
      fold(asked, [
        'tool.result',
        { tool_call_id: 'q', name: 'ask_user_question', content: '{}', elapsed_ms: 0 },
      ]),
      'question',
    ),
  ).toMatchObject([{ responses: null, cancelled: true }])
})

test('state_id is the last event that may change the session state, and chunks do not count', () => {
  const wake: Entry = ['harness.wake', { worker_id: 'w', cursor: 0 }]
  const said: Entry = ['user.message', { content: 'x' }]
  expect(fold(said, wake, ['llm.delta', { content: 'half', ...at }]).state_id).toBe(1)
  for (const end of [
    ['session.complete', { reason: 'completed' }],
    ['session.stopped', { reason: 'user' }],
    ['inbox.input_required', { tool_call_id: 'q', questions: [] }],
  ] satisfies Entry[])
    expect(fold(said, wake, end).state_id).toBe(3)
})

test('an interrupted turn leaves no answer in the streaming state', () => {
  expect(
    only(fold(['llm.delta', { content: 'half', ...at }], ['session.stopped', { reason: 'user' }]), 'answer'),
  ).toMatchObject([{ content: 'half', streaming: false }])
})

test('failures, crashes and recoveries appear in the chat', () => {
  const view = fold(
    [
      'session.fail',
      {
        reason: 'max_retries_exhausted',
        error_category: 'network',
        error: 'connection refused',
        retryable: true,
      },
    ],
    ['harness.recovered', { recovered_by: 'w', stale_seconds: 61.4 }],
  )
  expect(kinds(view)).toEqual(['notice', 'notice'])
  expect(only(view, 'notice').map(item => item.text)).toEqual([
    'connection refused',
    'Recovered after 61 s without a runner.',
  ])
})

test('a command reply leaves the context meter unchanged, and the goal is part of the view', () => {
  const answered: Entry = [
    'llm.response',
    { message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop', ...usage, ...at },
  ]
  const goal: Entry = [
    'outcome.defined',
    { outcome_id: 'o', description: 'd', rubric: { type: 'text', content: 'r' }, max_iterations: 3 },
  ]
  const reply: Entry = [
    'llm.response',
    {
      message: { role: 'assistant', content: 'Goal set.' },
      finish_reason: 'command',
      ...usage,
      input_tokens: 0,
      output_tokens: 0,
      command_event_id: 1,
    },
  ]
  const view = fold(
    ['user.message', { content: '/goal d' }],
    answered,
    ['harness.wake', { worker_id: 'w', cursor: 0 }],
    goal,
    reply,
  )
  expect(view).toMatchObject({
    context_tokens: 15,
    goal: { description: 'd', status: 'active' },
  })
  expect(only(view, 'answer').map(item => item.finish_reason)).toEqual(['stop', 'command'])
})

test('a worker is a card where it was spawned, and the card shows its outcome', () => {
  const numbers = {
    duration_seconds: 4,
    iterations: 2,
    input_tokens: 10,
    output_tokens: 5,
    cost_usd: 0.1,
    files_written: ['a.md'],
  }
  const spawned = (worker_id: string, kind: 'worker' | 'delegation') =>
    ['worker.spawned', { worker_id, goal: `be ${worker_id}`, kind, agent: 'assistant', depth: 1 }] as const
  const view = fold(
    [...spawned('w', 'worker')],
    [...spawned('d', 'delegation')],
    [...spawned('gone', 'worker')],
    [
      'delegation.start',
      {
        child_session_id: 'd',
        tool_call_id: 'c',
        timeout_seconds: 900,
        goal: 'be d',
        role: 'leaf',
        depth: 1,
        agent_type: null,
        model: null,
      },
    ],
    ['user.message', { content: 'meanwhile' }],
    ['worker.complete', { worker_id: 'd', result: 'done', ...numbers }],
    ['worker.failed', { worker_id: 'w', error: 'no', cause: 'error', partial_result: 'half', ...numbers }],
    ['worker.failed', { worker_id: 'gone', error: 'stopped', cause: 'parent', ...numbers }],
  )
  // A delegation, or a worker that ended with its parent, is reported by its card alone.
  expect(kinds(view)).toEqual(['worker', 'worker', 'worker', 'user', 'notice'])
  expect(only(view, 'worker')).toMatchObject([
    {
      worker_id: 'w',
      status: 'failed',
      outcome: { text: 'no', partial: 'half', cause: 'error', tokens: 15 },
    },
    { worker_id: 'd', status: 'complete', timeout_seconds: 900, outcome: { text: 'done', cause: null } },
    { worker_id: 'gone', status: 'failed', outcome: { cause: 'parent' } },
  ])
  expect(only(view, 'notice')).toMatchObject([{ level: 'warning', text: 'Worker failed: be w' }])
})

test('a message that a stop left unanswered is marked, and an answered one is not', () => {
  const view = fold(
    ['user.message', { content: 'first' }],
    ['llm.delta', { content: 'half', ...at }],
    ['user.message', { content: 'and this' }],
    ['user.message', { content: 'told by the server', synthetic: 'goal' }],
    ['session.stopped', { reason: 'user' }],
    ['user.message', { content: 'later' }],
  )
  expect(only(view, 'user').map(({ content, unanswered }) => [content, unanswered])).toEqual([
    ['first', undefined],
    ['and this', true],
    ['told by the server', undefined],
    ['later', undefined],
  ])
})

test('a goal that ends adds a line to the conversation, and one that continues does not', () => {
  const verdict = (result: 'blocked' | 'needs_revision' | 'satisfied'): Entry => [
    'span.outcome_evaluation_end',
    {
      outcome_id: 'o',
      outcome_evaluation_start_id: 1,
      iteration: 1,
      result,
      explanation: 'no parser is there',
      feedback: '',
      parse_failed: false,
    },
  ]
  expect(only(fold(verdict('blocked')), 'notice')).toMatchObject([
    { level: 'warning', text: 'Goal blocked: no parser is there' },
  ])
  expect(only(fold(verdict('satisfied')), 'notice')).toHaveLength(1)
  expect(only(fold(verdict('needs_revision')), 'notice')).toEqual([])
})

test('the history of a fork is one item, and the model reads it as the conversation', () => {
  const history = [
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'done' },
  ]
  const said: Entry = [
    'user.message',
    { content: 'for people', synthetic: 'fork', forked_from: { session_id: 'o', event_id: 5 }, history },
  ]
  expect(fold(said).items).toMatchObject([
    { kind: 'history', forked_from: { event_id: 5 }, imported: null, messages: history },
  ])
  const conversation = log(said, ['user.message', { content: 'more' }]).reduce(
    foldConversation,
    emptyConversation,
  )
  expect(conversation.entries.map(({ message }) => message)).toEqual([
    ...history,
    { role: 'user', content: 'more' },
  ])
})
