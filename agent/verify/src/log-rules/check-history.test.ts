import type { SessionEvent } from '@cairn/protocol'
import { describe, expect, test } from 'vitest'
import { checkHistory } from './check-history.ts'

type Line = [type: string, data: Record<string, unknown>]
const at = (turn_id: string, iteration_index: number) => ({ turn_id, iteration_index })
const response = (iteration: number, content: string, calls: string[] = []): Line => [
  'llm.response',
  {
    message: {
      role: 'assistant',
      content,
      ...(calls.length > 0
        ? {
            tool_calls: calls.map(id => ({
              id,
              type: 'function',
              function: { name: 'note', arguments: '{}' },
            })),
          }
        : {}),
    },
    model: 'm',
    input_tokens: 1,
    output_tokens: 1,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'stop',
    context_window: 1,
    ...at('t', iteration),
  },
]
const summary = (iteration: number, tool_call_ids: string[] = []): Line => [
  'iteration.summary',
  { ...at('t', iteration), summary: 's', tool_call_ids, started_at: 'a', ended_at: 'b' },
]
const ended: Line[] = [
  ['turn.summary', { ...at('t', 1), recap: 'r', artifacts: [] }],
  ['session.complete', { reason: 'completed' }],
]
const call = (id: string): Line => ['tool.call', { tool_call_id: id, name: 'note', arguments: {} }]
const result = (id: string, elapsed_ms = 5): Line => [
  'tool.result',
  { tool_call_id: id, name: 'note', content: 'ok', elapsed_ms },
]
const request = (iteration: number, attempt = 0): Line => [
  'llm.request',
  { model: 'm', ...at('t', iteration), attempt },
]
const message: Line = ['user.message', { content: 'go' }]
const wake: Line = ['harness.wake', { worker_id: 'w', cursor: 0 }]
const delta: Line = ['llm.delta', { content: 'x', ...at('t', 0) }]

const sound: Line[] = [
  message,
  wake,
  request(0),
  delta,
  response(0, '', ['c']),
  call('c'),
  result('c'),
  summary(0, ['c']),
  request(1),
  response(1, 'done'),
  summary(1),
  ...ended,
]
const INDEX = {
  message: 0,
  wake: 1,
  request: 2,
  delta: 3,
  response: 4,
  call: 5,
  result: 6,
  summary: 7,
  secondRequest: 8,
  secondResponse: 9,
  secondSummary: 10,
  turnSummary: 11,
  complete: 12,
}

function log(lines: readonly Line[], ids: (index: number) => number = index => index + 1): SessionEvent[] {
  return lines.map(
    ([type, data], index) =>
      ({
        id: ids(index),
        session_id: 's',
        type,
        created_at: '2026-01-01T00:00:00.000Z',
        data,
      }) as unknown as SessionEvent,
  )
}
const without = (...indexes: number[]): Line[] => sound.filter((_, index) => !indexes.includes(index))
const inserted = (after: number, ...lines: Line[]): Line[] => [
  ...sound.slice(0, after + 1),
  ...lines,
  ...sound.slice(after + 1),
]
const swapped = (a: number, b: number): Line[] =>
  sound.map((line, index) => (index === a ? (sound[b] ?? line) : index === b ? (sound[a] ?? line) : line))

test('a sound log has no violations', () => {
  expect(checkHistory(log(sound), { settled: true })).toEqual([])
})

test('only pruned chunks may leave a gap in the ids', () => {
  const gapAfter = (index: number) => log(sound, at => at + 1 + (at > index ? 3 : 0))
  expect(checkHistory(gapAfter(INDEX.request))).toEqual([])
  expect(checkHistory(gapAfter(INDEX.response))).toEqual([expect.stringContaining('are missing')])
  expect(checkHistory(log(sound, () => 1))[0]).toContain('does not come after')
})

test('recovery, a repeated request, a crash and a pause are valid in a sound log', () => {
  const recovered: Line[] = [['harness.recovered', { recovered_by: 'w2', stale_seconds: 61 }], wake]
  expect(checkHistory(log(inserted(INDEX.delta, ...recovered, request(0, 0))))).toEqual([])
  expect(checkHistory(log(inserted(INDEX.call, ...recovered)))).toEqual([])
  expect(
    checkHistory(
      log(
        inserted(
          INDEX.delta,
          ['harness.crash', { worker_id: 'w', error_category: 'internal', error: 'e', retryable: true }],
          request(0, 1),
        ),
      ),
    ),
  ).toEqual([])
  expect(
    checkHistory(log(inserted(INDEX.call, ['session.pause', {}], ['session.resume', {}], wake))),
  ).toEqual([])
})

describe('the summary of a turn', () => {
  const summed = (input_tokens: number): Line[] => [
    ['worker.complete', { worker_id: 'c' }],
    ...sound.slice(INDEX.wake, INDEX.turnSummary),
    [
      'turn.summary',
      { ...at('t', 1), recap: 'r', artifacts: [], input_tokens, output_tokens: 2, cost_usd: 0 },
    ],
    ['session.complete', { reason: 'completed' }],
  ]
  const check = (input_tokens: number, current: boolean) =>
    checkHistory(log(summed(input_tokens)), { current }).filter(found => found.includes('turn.summary'))

  test('counts the usage of its turn, whether a message or another event started it', () => {
    expect(check(2, true)).toEqual([])
    expect(check(0, true)).toEqual([
      expect.stringContaining('input_tokens is 0, and the events of its turn sum to 2'),
    ])
  })

  test('may count nothing in a log of an older release', () => {
    expect(check(0, false)).toEqual([])
  })
})

test('a question may stay open at the end of a settled log', () => {
  const asked = [
    ...sound.slice(0, INDEX.call + 1),
    ['inbox.input_required', { tool_call_id: 'c', questions: [{ prompt: 'p' }] }] as Line,
  ]
  expect(checkHistory(log(asked), { settled: true })).toEqual([])
})

describe('an answered question', () => {
  const answer: Line = ['ask_user_question.response', { tool_call_id: 'c', responses: [] }]
  const written: Line = [
    'tool.result',
    { tool_call_id: 'c', name: 'note', content: '{"responses":[]}', elapsed_ms: 5 },
  ]
  const cancelled: Line = [
    'tool.result',
    { tool_call_id: 'c', name: 'note', content: '{"cancelled":true}', elapsed_ms: 5 },
  ]
  const asked: Line[] = [
    ...sound.slice(0, INDEX.call + 1),
    ['inbox.input_required', { tool_call_id: 'c', questions: [{ prompt: 'p' }] }],
  ]
  const rest = sound.slice(INDEX.summary)
  const check = (...lines: Line[]) => checkHistory(log([...asked, ...lines]), { current: true })

  test('has one tool.result before the summary of its iteration and the next model call', () => {
    expect(check(answer, written, ...rest)).toEqual([])
    expect(check(answer, ...rest)).toEqual([expect.stringContaining('c was answered and has no tool.result')])
  })

  test('may lack it in logs of older releases', () => {
    expect(checkHistory(log([...asked, answer, ...rest]), { settled: true })).toEqual([])
  })

  test('right before a stop gets its result at the next wake, and nothing else is due', () => {
    const looked: Line[] = [
      ['session.stopped', { reason: 'user' }],
      ['session.pause', {}],
      ['session.resume', {}],
    ]
    const events = log([...asked, answer, ...looked, wake, written])
    expect(checkHistory(events, { settled: true, current: true })).toEqual([])
  })

  test.each<[what: string, lines: Line[], says: string]>([
    ['is answered twice', [answer, answer], 'had its result before'],
    ['is answered after its call has ended', [cancelled, answer], 'had its result before'],
    ['gets two results', [answer, written, written], 'had its result before'],
    ['gets a result after the model was called again', [answer, ...rest, written], 'had its result before'],
    ['gets a result that differs from the answer', [answer, cancelled], 'not what was answered'],
  ])('is reported if it %s', (_, lines, says) => {
    expect(checkHistory(log([...asked, ...lines])).join('\n')).toContain(says)
  })
})

describe('reports the violation when', () => {
  const cases: [what: string, lines: Line[], says: string][] = [
    ['a call starts twice', inserted(INDEX.call, call('c')), 'started before'],
    ['a result comes twice', inserted(INDEX.result, result('c')), 'had its result before'],
    ['a tool ran without its call on disk', without(INDEX.call), 'ran without tool.call'],
    ['a result is missing', without(INDEX.result), 'no result'],
    [
      'the model did not ask for the call',
      inserted(INDEX.result, call('d')),
      'no answer of the model made this call',
    ],
    ['the turn has no wake', without(INDEX.wake), 'no worker is awake'],
    [
      'a stopped turn starts something',
      inserted(INDEX.response, ['session.stopped', { reason: 'user' }]),
      'no worker is awake',
    ],
    ['an answer has no request', without(INDEX.request, INDEX.delta), 'answers no call'],
    [
      'an iteration is skipped',
      without(INDEX.request, INDEX.delta, INDEX.response, INDEX.call, INDEX.result, INDEX.summary),
      'where 0 is due',
    ],
    [
      'an iteration is answered twice',
      inserted(INDEX.response, request(0), response(0, 'again')),
      'answered before',
    ],
    ['a summary comes before its result', swapped(INDEX.result, INDEX.summary), 'without a result'],
    ['a summary comes twice', inserted(INDEX.summary, summary(0, ['c'])), 'summed up before'],
    [
      'something follows the turn summary',
      inserted(INDEX.turnSummary, message),
      'followed by its session.complete',
    ],
    ['a chunk comes late', inserted(INDEX.response, delta), 'no call of the model under way'],
    ['a completed session takes a message without resuming', [...sound, message], 'without session.resume'],
    ['an active session resumes', inserted(INDEX.message, ['session.resume', {}]), 'resumed while active'],
    [
      'a gate has no denial',
      inserted(INDEX.call, [
        'inbox.governance_gate',
        { tool_name: 'note', tool_call_id: 'c', arguments_excerpt: '', deny_reason: '', policy_id: '' },
      ]),
      'without its policy.denied',
    ],
    [
      'a denied tool ran',
      inserted(INDEX.call, ['policy.denied', { tool: 'note', reason: 'r', timestamp: 1, tool_call_id: 'c' }]),
      'a denied tool ran',
    ],
    [
      'an approval is used that was not given',
      inserted(INDEX.call, [
        'policy.allowed',
        { tool_name: 'note', reason: 'human approval', tool_call_id: 'c' },
      ]),
      'than were approved',
    ],
    ['data does not match the contract', inserted(INDEX.result, ['todo.updated', {}]), 'does not fit'],
  ]
  test.each(cases)('%s', (_, lines, says) => {
    expect(checkHistory(log(lines)).join('\n')).toContain(says)
  })

  test('a settled log ends within a turn', () => {
    expect(checkHistory(log(sound.slice(0, INDEX.secondSummary + 1)), { settled: true })).toEqual([
      expect.stringContaining('ends within a turn'),
    ])
  })
})

const outcome = { outcome_id: 'o' }
const defined: Line = [
  'outcome.defined',
  { ...outcome, description: 'd', rubric: { type: 'text', content: 'r' }, max_iterations: 3 },
]
const kickoff: Line = ['user.message', { content: 'd', synthetic: 'outcome_kickoff', ...outcome }]
const spanStart = (iteration: number, response_event_id: number): Line => [
  'span.outcome_evaluation_start',
  { ...outcome, iteration, response_event_id },
]
const spanEnd = (iteration: number, outcome_evaluation_start_id: number, verdict: string): Line => [
  'span.outcome_evaluation_end',
  {
    ...outcome,
    outcome_evaluation_start_id,
    iteration,
    result: verdict,
    explanation: 'e',
    feedback: 'f',
    parse_failed: false,
  },
]
const goOn = (status_event_id: number): Line => [
  'outcome.continuation',
  { ...outcome, iteration: 1, status_event_id },
]
const again: Line = ['user.message', { content: 'more', synthetic: 'outcome_continuation', ...outcome }]
/** Event 6 is the answer, 8 opens the span, 9 closes it. */
const graded = (verdict: string): Line[] => [
  message,
  wake,
  defined,
  kickoff,
  request(0),
  response(0, 'done'),
  summary(0),
  spanStart(0, 6),
  spanEnd(1, 8, verdict),
]
const revised: Line[] = [
  ...graded('needs_revision'),
  ['turn.summary', { ...at('t', 0), recap: 'r', artifacts: [] }],
  goOn(9),
  again,
]

test('a goal that is revised and then satisfied is sound', () => {
  expect(checkHistory(log(graded('satisfied')))).toEqual([])
  expect(checkHistory(log(revised))).toEqual([])
})

test.each<[string, Line[], RegExp]>([
  ['a second goal', [...graded('needs_revision'), defined], /a goal is set while o is active/],
  [
    'a span within a span',
    [...graded('needs_revision').slice(0, 8), spanStart(0, 6)],
    /the span of 8 is open/,
  ],
  [
    'a skipped iteration',
    [...graded('needs_revision').slice(0, 7), spanStart(1, 6)],
    /iteration is 1, expected 0/,
  ],
  [
    'a response id that is not an answer',
    [...graded('needs_revision').slice(0, 7), spanStart(0, 5)],
    /does not name an earlier llm.response/,
  ],
  ['a second verdict', [...graded('needs_revision'), spanEnd(1, 8, 'satisfied')], /its span is not open/],
  [
    'a continuation without a verdict that requires it',
    [...graded('satisfied'), goOn(9), again],
    /no verdict of the active goal requires it/,
  ],
  ['a continuation without its message', [...revised.slice(0, -1), wake], /followed by its message/],
  [
    'a clear of a missing goal',
    [...graded('satisfied'), ['outcome.cleared', outcome]],
    /clears o, but the current goal is none/,
  ],
  [
    'a message expanded twice',
    [
      message,
      wake,
      ...[1, 1].map((user_message_id): Line => [
        'skill.invoked',
        { skill: 's', raw_message: '/s', staged_at: null, user_message_id },
      ]),
    ],
    /message 1 was already processed/,
  ],
])('reports %s', (_what, lines, sentence) => {
  expect(checkHistory(log(lines)).join('\n')).toMatch(sentence)
})

const NO_WORK = {
  iterations: 0,
  duration_seconds: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  files_written: [],
}
test('a wake without work is not a turn, and a message must be answered', () => {
  const pause: Line = ['session.pause', { reason: 'r' }]
  const resume: Line = ['session.resume', { source: 'user' }]
  const reply: Line = [
    'llm.response',
    {
      message: { role: 'assistant', content: 'No turn is running.' },
      model: 'm',
      input_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
      cache_read_tokens: 0,
      finish_reason: 'stop',
      context_window: 1,
    },
  ]
  const settled = (...lines: Line[]) => checkHistory(log(lines), { settled: true })
  expect(settled(pause, resume, wake)).toEqual([])
  // What a stop does to the workers of a session without a turn is no work.
  const failure = (cause: string): Line => [
    'worker.failed',
    { worker_id: 'w', error: 'stopped', cause, ...NO_WORK },
  ]
  const isLeft = (cause: string): boolean =>
    settled(pause, failure(cause), resume, wake).some(problem => problem.includes('ends within a turn'))
  expect([isLeft('parent'), isLeft('error')]).toEqual([false, true])
  expect(settled(message, wake, reply)).toEqual([])
  expect(settled(message, pause, resume, wake)).toEqual([
    expect.stringContaining('the log ends within a turn'),
  ])
  expect(settled(message, wake, request(0), reply)).toEqual([
    expect.stringContaining('the log ends within a turn'),
  ])
})
