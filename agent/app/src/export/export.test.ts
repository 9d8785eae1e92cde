import { expect, test } from 'vitest'
import type { EventType, ReadData, SessionEvent } from '@cairn/protocol'
import { type Trajectory, foldTrajectory } from '@cairn/state'
import { atifTrajectory } from './atif.ts'
import { dpoExamples, isSelected, ktoExamples, sftExample } from './examples.ts'
import { DEFAULT_SELECTION, type DefineTool } from './options.ts'

type Entry = { [T in EventType]: [T, ReadData<T>] }[EventType]
const define: DefineTool = name => ({
  type: 'function',
  function: { name, description: `the tool ${name}`, parameters: { type: 'object' } },
})
const session = (id: string, ...entries: Entry[]): Trajectory =>
  foldTrajectory(
    id,
    entries.map(
      ([type, data], index) =>
        ({
          id: index + 1,
          session_id: id,
          type,
          created_at: '2026-01-01T00:00:00.000Z',
          data,
        }) as unknown as SessionEvent,
    ),
  )

const user = (content: string): Entry => ['user.message', { content }]
const answer = (content: string, calls: string[] = []): Entry => [
  'llm.response',
  {
    message: {
      role: 'assistant',
      content,
      ...(calls.length
        ? {
            tool_calls: calls.map(id => ({
              id,
              type: 'function' as const,
              function: { name: 'read_file', arguments: '{"path":"a"}' },
            })),
          }
        : {}),
    },
    model: 'demo/m',
    input_tokens: 7,
    output_tokens: 3,
    reasoning_tokens: 0,
    cache_read_tokens: 2,
    finish_reason: 'stop',
    context_window: 100,
    cost_usd: 0.25,
    turn_id: 't',
    iteration_index: 0,
  },
]
const result = (tool_call_id: string, content = 'text of a'): Entry => [
  'tool.result',
  { tool_call_id, name: 'read_file', content, elapsed_ms: 4 },
]
const rate = (target_event_id: number, rating: 'up' | 'down', who = 'u1'): Entry => [
  'user.feedback',
  { target_event_id, rating, source: 'user', rated_by_user_id: who },
]

test('an SFT example is the conversation up to the last answer rated up, with the tools it used', () => {
  const rated = session(
    's',
    user('q'),
    answer('', ['c1']),
    result('c1'),
    answer('done'),
    user('more'),
    answer('unrated'),
    rate(4, 'up'),
  )
  expect(sftExample(rated, DEFAULT_SELECTION, define)).toEqual({
    messages: [
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'text of a' },
      { role: 'assistant', content: 'done' },
    ],
    tools: [define('read_file')],
    metadata: { session_id: 's', event_id: 4, ratings: [{ rating: 'up', source: 'user', score: null }] },
  })
})

test('orders the results of parallel calls by call, not by arrival', () => {
  const rated = session(
    's',
    user('q'),
    answer('', ['c1', 'c2']),
    result('c2', 'second'),
    result('c1', 'first'),
    answer('done'),
    rate(5, 'up'),
  )
  expect(
    sftExample(rated, DEFAULT_SELECTION, define)?.messages.flatMap(message =>
      message.role === 'tool' ? [message.content] : [],
    ),
  ).toEqual(['first', 'second'])
})

test('exports the answer to a question as one result, in the current and the old log format', () => {
  const responses = [{ question: 'Which?', answer: 'this' }]
  const asked: Entry[] = [
    user('ask me'),
    answer('', ['q']),
    ['tool.call', { tool_call_id: 'q', name: 'ask_user_question', arguments: {} }],
    ['inbox.input_required', { tool_call_id: 'q', questions: [{ prompt: 'Which?' }] }],
    ['ask_user_question.response', { tool_call_id: 'q', responses }],
  ]
  const rest: Entry[] = [['llm.request', { model: 'm', turn_id: 't', iteration_index: 1 }], answer('Well.')]
  const stepsOf = (...entries: Entry[]) =>
    session('s', ...entries).steps.filter(step => step.kind === 'tool' || step.kind === 'response')
  const now = stepsOf(...asked, result('q', 'as written'), ...rest)
  expect(now).toMatchObject([
    { kind: 'response' },
    { kind: 'tool', event_id: 5, tool_call_id: 'q', content: 'as written', elapsed_ms: 4 },
    { kind: 'response', prefix: [{}, {}, { role: 'tool', content: 'as written' }] },
  ])
  const before = stepsOf(...asked, ...rest)
  const content = JSON.stringify({ responses })
  expect(before).toMatchObject([
    { kind: 'response' },
    { kind: 'tool', event_id: 5, tool_call_id: 'q', content },
    { kind: 'response', prefix: [{}, {}, { role: 'tool', content }] },
  ])
})

test('skips an unrated session and one with an earlier bad or disputed answer', () => {
  expect(sftExample(session('s', user('q'), answer('a')), DEFAULT_SELECTION, define)).toBeNull()
  expect(
    sftExample(
      session('s', user('q'), answer('bad'), user('again'), answer('good'), rate(2, 'down'), rate(4, 'up')),
      DEFAULT_SELECTION,
      define,
    ),
  ).toBeNull()
  expect(
    sftExample(
      session(
        's',
        user('q'),
        answer('a'),
        user('r'),
        answer('b'),
        rate(2, 'up'),
        rate(2, 'down', 'u2'),
        rate(4, 'up'),
      ),
      DEFAULT_SELECTION,
      define,
    ),
  ).toBeNull()
})

test('a second rating by the same person replaces the first', () => {
  expect(
    sftExample(
      session('s', user('q'), answer('a'), rate(2, 'down'), rate(2, 'up')),
      DEFAULT_SELECTION,
      define,
    ),
  ).not.toBeNull()
})

test('counts only ratings of the selected source', () => {
  const judged = session('s', user('q'), answer('a'), [
    'user.feedback',
    { target_event_id: 2, rating: 'up', source: 'judge', rated_by_service_account_id: 'j', score: 0.9 },
  ])
  expect(sftExample(judged, { ...DEFAULT_SELECTION, source: 'user' }, define)).toBeNull()
  expect(sftExample(judged, { ...DEFAULT_SELECTION, source: 'judge' }, define)?.metadata.ratings).toEqual([
    { rating: 'up', source: 'judge', score: 0.9 },
  ])
})

test('skips sessions with a denied call, a crash or a rollback unless they are requested', () => {
  const denied = session(
    's',
    user('q'),
    ['policy.denied', { tool: 't', reason: 'r', timestamp: 1 }],
    answer('a'),
    rate(3, 'up'),
  )
  expect(isSelected(denied, 'assistant', DEFAULT_SELECTION)).toBe(false)
  expect(isSelected(denied, 'assistant', { ...DEFAULT_SELECTION, exclude: [] })).toBe(true)
  expect(isSelected(session('s', user('q')), 'other', { ...DEFAULT_SELECTION, agents: ['assistant'] })).toBe(
    false,
  )
})

test('a pair is two answers to the same conversation, regardless of call ids', () => {
  const good = session('s1', user('q'), answer('', ['c1']), result('c1'), answer('right'), rate(4, 'up'))
  const bad = session('s2', user('q'), answer('', ['zz']), result('zz'), answer('wrong'), rate(4, 'down'))
  const other = session('s3', user('different'), answer('wrong'), rate(2, 'down'))
  const pairs = dpoExamples([good, bad, other], DEFAULT_SELECTION, define)
  expect(pairs).toHaveLength(1)
  expect(pairs[0]).toMatchObject({
    prompt: [{ role: 'user', content: 'q' }],
    metadata: { chosen: { session_id: 's1' }, rejected: { session_id: 's2' } },
  })
  expect(pairs[0]!.chosen.at(-1)).toEqual({ role: 'assistant', content: 'right' })
  expect(pairs[0]!.rejected.at(-1)).toEqual({ role: 'assistant', content: 'wrong' })
})

test('a rated answer is a KTO example by itself, without an answer to compare it with', () => {
  const good = session('s1', user('q'), answer('', ['c1']), result('c1'), answer('right'), rate(4, 'up'))
  const bad = session('s2', user('other'), answer('wrong'), rate(2, 'down'))
  const none = session('s3', user('q'), answer('unrated'))
  const rated = [good, bad, none].flatMap(one => ktoExamples(one, DEFAULT_SELECTION, define))
  expect(rated.map(({ label, metadata }) => [metadata.session_id, label])).toEqual([
    ['s1', true],
    ['s2', false],
  ])
  expect(rated[0]).toMatchObject({ prompt: [{ role: 'user', content: 'q' }], tools: [define('read_file')] })
  expect(rated[0]!.completion.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant'])
  expect(rated[1]!.completion).toEqual([{ role: 'assistant', content: 'wrong' }])
})

test('an ATIF trajectory numbers steps from one, puts results with their calls and sums the usage', () => {
  const atif = atifTrajectory(
    session('s', user('q'), answer('', ['c1']), result('c1'), answer('done'), rate(4, 'up')),
    'assistant',
    '1.2.3',
  )
  expect(atif).toMatchObject({ schema_version: 'ATIF-v1.8', session_id: 's', trajectory_id: 's' })
  expect(atif?.steps.map(step => [step.step_id, step.source, step.llm_call_count])).toEqual([
    [1, 'user', undefined],
    [2, 'agent', 1],
    [3, 'agent', 1],
  ])
  expect(atif?.steps[1]).toMatchObject({
    tool_calls: [{ tool_call_id: 'c1', function_name: 'read_file', arguments: { path: 'a' } }],
    observation: { results: [{ source_call_id: 'c1', content: 'text of a' }] },
  })
  expect(atif?.final_metrics).toEqual({
    total_prompt_tokens: 14,
    total_completion_tokens: 6,
    total_cached_tokens: 4,
    total_cost_usd: 0.5,
    total_steps: 3,
  })
  expect(atifTrajectory(session('s', user('q')), 'assistant', '1.2.3')).toBeNull()
})
