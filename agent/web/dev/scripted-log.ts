/**
 * A session's log for development: one turn that shows everything the UI draws, and long logs made of many
 * turns.
 */
import { type EventDraft, writer } from '@cairn/protocol'

const say = writer('messages')
const wake = writer('wake')
const sweep = writer('sweeper')
const turn = writer('turn')
const tool = writer('tools')
const governance = writer('governance')
const inbox = writer('inbox')
const life = writer('lifecycle')
const title = writer('titles')
const expert = writer('experts')
const saga = writer('saga')

/** A draft and the milliseconds since the one before. */
export type Step = { draft: EventDraft; afterMs: number }
const step = (afterMs: number, draft: EventDraft): Step => ({ draft, afterMs })

const usage = (input: number, output: number) => ({
  model: 'demo/granite',
  input_tokens: input,
  output_tokens: output,
  reasoning_tokens: Math.round(output / 5),
  cache_read_tokens: Math.round(input * 0.6),
  context_window: 128_000,
  cost_usd: Number(((input * 1.25 + output * 10) / 1e6).toFixed(6)),
})
const call = (id: string, name: string, args: unknown) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: JSON.stringify(args) },
})

function* answer(
  at: { turn_id: string; iteration_index: number },
  content: string,
  calls: ReturnType<typeof call>[] = [],
  thought = '',
): Generator<Step> {
  yield step(14, turn('llm.request', { model: 'demo/granite', ...at }))
  if (thought !== '') yield step(900, turn('llm.thinking', { reasoning: thought, ...at }))
  for (const [i, piece] of (content.match(/[\s\S]{1,28}/g) ?? []).entries())
    yield step(i === 0 ? 620 : 42, turn('llm.delta', { content: piece, ...at }))
  yield step(
    60,
    turn('llm.response', {
      message: { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
      ...usage(8200 + at.iteration_index * 1430, 90 + content.length),
      finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      ...at,
    }),
  )
}

function* toolRun(
  id: string,
  name: string,
  args: Record<string, unknown>,
  content: unknown,
  elapsedMs: number,
): Generator<Step> {
  yield step(8, tool('tool.call', { tool_call_id: id, name, arguments: args }))
  yield step(
    elapsedMs,
    tool('tool.result', {
      tool_call_id: id,
      name,
      content: typeof content === 'string' ? content : JSON.stringify(content),
      elapsed_ms: elapsedMs,
    }),
  )
}

const REPORT = `The two regressions come from the same change.

1. \`parseRange\` treats an **empty** end as 0, so the last page is dropped.
2. The retry wrapper swallows the first error and reports the second.

| file | line | change |
| --- | ---: | --- |
| \`src/range.ts\` | 41 | end defaults to the length |
| \`src/retry.ts\` | 18 | the first error is the cause |

\`\`\`ts
export function parseRange(text: string, length: number): Range {
  const [start = '0', end = ''] = text.split('-')
  return { start: Number(start), end: end === '' ? length : Number(end) }
}
\`\`\`

All 212 tests pass. I did not touch the cache; see the chart for the timings.`

const at = (iteration_index: number) => ({ turn_id: 'turn-1', iteration_index })

/** The tour: ends with a question and a gate that wait. */
export function* tour(sessionId: string): Generator<Step> {
  yield step(
    0,
    say('user.message', {
      content:
        'The nightly export lost its last page and the log says nothing useful. Find out why, fix it, ' +
        'and show me the timings before and after.',
      principal_user_id: 'user-1',
    }),
  )
  yield step(22, wake('harness.wake', { worker_id: 'worker-7f3a', cursor: 0 }))
  yield step(3, saga('saga.start', { saga_id: 'saga-1', session_id: sessionId, timestamp: 1_795_000_000.2 }))
  yield* answer(
    at(0),
    'I will look at the export first.',
    [
      call('c1', 'read_file', { path: 'src/range.ts' }),
      call('c2', 'search_files', { pattern: 'parseRange\\(' }),
    ],
    'The export works in pages. A lost last page smells like an off-by-one in the range, or an empty ' +
      'end that is read as zero. I should read the range parser, then look for its callers before I ' +
      'change anything.',
  )
  yield* toolRun(
    'c1',
    'read_file',
    { path: '__WORKSPACE__/src/range.ts' },
    'export function parseRange(text: string) {\n  const [start, end] = text.split("-")\n  return { ' +
      'start: Number(start), end: Number(end) }\n}\n',
    12,
  )
  yield* toolRun(
    'c2',
    'search_files',
    { pattern: 'parseRange\\(' },
    {
      matches: [
        { file: 'src/export.ts', line: 88 },
        { file: 'src/range.test.ts', line: 12 },
      ],
      truncated: false,
    },
    143,
  )
  yield step(
    4,
    tool('todo.updated', {
      todos: [
        { id: '1', content: 'Reproduce the lost page', status: 'completed' },
        { id: '2', content: 'Fix the range parser and the retry wrapper', status: 'in_progress' },
        { id: '3', content: 'Measure before and after', status: 'pending' },
      ],
    }),
  )
  yield step(
    10,
    turn('iteration.summary', {
      ...at(0),
      summary: 'Read the range parser and found its callers',
      tool_call_ids: ['c1', 'c2'],
      started_at: '2026-11-21T08:00:00.000Z',
      ended_at: '2026-11-21T08:00:03.000Z',
    }),
  )
  yield* answer(at(1), '', [call('c3', 'terminal', { command: 'npm test -- range' })])
  yield* toolRun(
    'c3',
    'terminal',
    { command: 'npm test -- range' },
    { error: 'Tool execution failed: exit code 1\n2 of 14 tests failed in src/range.test.ts' },
    4310,
  )
  yield step(5200, turn('llm.heartbeat', { ...at(2), silent_for_seconds: 15 }))
  yield step(
    12,
    wake('harness.crash', {
      worker_id: 'worker-7f3a',
      error_category: 'network',
      error: 'socket hang up while reading from the model',
      retryable: true,
    }),
  )
  yield step(61_000, sweep('harness.recovered', { recovered_by: 'sweeper-1', stale_seconds: 61.4 }))
  yield step(5, wake('harness.wake', { worker_id: 'worker-91bc', cursor: 40 }))
  yield step(
    6,
    expert('expert.delegation', {
      expert: 'sql_writer',
      task: 'Write the query that finds exports whose page count is off by one.',
      tools: [],
      max_iterations: 10,
    }),
  )
  yield step(
    2100,
    expert('expert.result', {
      expert: 'sql_writer',
      success: true,
      iterations_used: 2,
      content: 'select id from exports where pages_written = pages_expected - 1',
      input_tokens: 900,
      output_tokens: 60,
      cost_usd: 0.0017,
    }),
  )
  yield step(
    2,
    saga('saga.step_begin', {
      saga_id: 'saga-1',
      step_id: 'step-1',
      tool_name: 'write_file',
      state: 'executing',
      timestamp: 1_795_000_090.1,
      tool_call_id: 'c4',
    }),
  )
  yield* toolRun(
    'c4',
    'write_file',
    { path: '__WORKSPACE__/src/range.ts', content: 'export function parseRange …' },
    { ok: true, bytes: 318 },
    21,
  )
  yield step(
    2,
    saga('saga.step_committed', {
      saga_id: 'saga-1',
      step_id: 'step-1',
      tool_name: 'write_file',
      state: 'committed',
      timestamp: 1_795_000_090.3,
    }),
  )
  for (const [artifact_id, name, kind] of [
    ['a1', 'Export timings', 'chart'],
    ['a2', 'Slowest pages', 'table'],
    ['a3', 'Pipeline', 'svg'],
    ['a4', 'Summary page', 'html'],
  ] as const) {
    yield step(30, tool('artifact.created', { artifact_id, name, kind, version: 1, size: 2048 }))
  }
  yield* answer(at(3), REPORT)
  yield step(
    9,
    turn('turn.summary', {
      ...at(3),
      recap: 'Fixed the range parser and the retry wrapper; tests pass',
      artifacts: [{ kind: 'artifact', label: 'Export timings', ref: 'a1' }],
      iterations: 4,
      input_tokens: 42_000,
      output_tokens: 1900,
      cost_usd: 0.071,
    }),
  )
  yield step(4, life('session.complete', { reason: 'completed' }))
  yield step(300, title('session.title_updated', { title: 'Lost last page of the nightly export' }))
  yield step(42_000, life('session.resume', { source: 'message' }))
  yield step(
    1,
    say('user.message', {
      content: 'Good. Now clear the broken exports of this week and deploy it.',
      principal_user_id: 'user-1',
    }),
  )
  yield step(19, wake('harness.wake', { worker_id: 'worker-91bc', cursor: 90 }))
  const next = { turn_id: 'turn-2', iteration_index: 0 }
  yield* answer(next, 'Deleting rows needs your approval, and I need to know where to deploy.', [
    call('c5', 'terminal', { command: 'psql -c "delete from exports where …"' }),
    call('c6', 'ask_user_question', {}),
  ])
  yield step(
    6,
    governance('policy.denied', {
      tool: 'terminal',
      reason: 'terminal needs an approval',
      timestamp: 1_795_000_200,
    }),
  )
  yield step(
    1,
    inbox('inbox.governance_gate', {
      tool_name: 'terminal',
      tool_call_id: 'c5',
      arguments_excerpt:
        '{"command": "psql -c \\"delete from exports where pages_written = pages_expected - 1\\""}',
      deny_reason: 'terminal is in require_approval',
      policy_id: 'require_approval:terminal',
    }),
  )
  yield step(
    1,
    tool('tool.result', {
      tool_call_id: 'c5',
      name: 'terminal',
      content: JSON.stringify({ error: 'Tool execution failed: policy_blocked_overridable' }),
      elapsed_ms: 0,
    }),
  )
  yield step(
    2,
    tool('tool.call', { tool_call_id: 'c6', name: 'ask_user_question', arguments: { questions: 1 } }),
  )
  yield step(
    4,
    inbox('inbox.input_required', {
      tool_call_id: 'c6',
      questions: [
        {
          prompt: 'Where should I deploy?',
          choices: [
            { label: 'Staging', description: 'The copy with last night’s data' },
            { label: 'Production', description: 'Two instances, one after the other' },
          ],
        },
      ],
    }),
  )
}

/** What a message gets here: one short streamed answer. */
export function* reply(text: string, number: number): Generator<Step> {
  yield step(20, wake('harness.wake', { worker_id: 'worker-91bc', cursor: 0 }))
  yield* answer(
    { turn_id: `turn-reply-${number}`, iteration_index: 0 },
    `You said “${text}”. This is the development server: it repeats, it does not think. ` +
      `${'It streams a few more words so that there is something to see. '.repeat(4)}`,
    [],
    'A short thought.',
  )
  yield step(5, life('session.complete', { reason: 'completed' }))
}

/** A log of `count` events: turns with a few calls, many deltas, now and then a crash. */
export function* long(count: number): Generator<Step> {
  let made = 0
  for (let n = 1; made < count; n++) {
    const first = { turn_id: `turn-${n}`, iteration_index: 0 }
    const steps: Step[] = [
      step(
        1200,
        say('user.message', {
          content: `Message ${n}: compare the figures of region ${n % 17} with the plan.`,
        }),
      ),
      step(15, wake('harness.wake', { worker_id: `worker-${n % 5}`, cursor: made })),
      ...answer(first, `Looking at region ${n % 17}.`, [call(`k${n}`, 'query', { region: n % 17 })]),
      ...toolRun(
        `k${n}`,
        'query',
        { region: n % 17, columns: ['plan', 'actual'] },
        n % 23 === 0 ? { error: 'Tool execution failed: timeout' } : { rows: 12, sample: [n, n * 2, n * 3] },
        40 + (n % 300),
      ),
      ...(n % 61 === 0
        ? [
            step(
              3,
              wake('harness.crash', {
                worker_id: `worker-${n % 5}`,
                error_category: 'internal',
                error: 'out of memory',
                retryable: true,
              }),
            ),
            step(60_000, sweep('harness.recovered', { recovered_by: 'sweeper-1', stale_seconds: 60 })),
          ]
        : []),
      ...answer(
        { ...first, iteration_index: 1 },
        `Region ${n % 17} is ${n % 9} percent above plan. ` +
          `${'The difference comes from two large orders at the end of the month. '.repeat(3)}`,
      ),
      step(4, life('session.complete', { reason: 'completed' })),
      step(900, life('session.resume', { source: 'message' })),
    ]
    for (const one of steps.slice(0, count - made)) yield one
    made += steps.length
  }
}
