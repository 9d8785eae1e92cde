/** The fold of a log into spans, on arbitrary logs and on logs with known steps. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventType, SessionEvent, SpanKind } from '@cairn/protocol'
import {
  buildPyramid,
  createAxis,
  emptySpanFold,
  endOf,
  foldSpans,
  hasFlag,
  idleStretches,
  isOpen,
  kindNumber,
  kindOf,
  packSpans,
  piecesOf,
  rowsOfRun,
  SIGN,
  SPAN_BYTES,
  spanOfEvent,
  type SpanFold,
  type Spans,
  unpackSpans,
} from '@cairn/state'
import { anyLog } from './any-log.ts'

const START = Date.UTC(2026, 0, 1)

const anyWorkerEvent = fc.oneof(
  fc.record({
    type: fc.constant('worker.spawned'),
    data: fc.record({
      worker_id: fc.constantFrom('w1', 'w2'),
      goal: fc.string(),
      agent: fc.constant('helper'),
      tool_call_id: fc.constantFrom('c1', 'c2', undefined),
    }),
  }),
  fc.record({
    type: fc.constantFrom('worker.complete', 'worker.failed'),
    data: fc.record({ worker_id: fc.constantFrom('w1', 'w2'), cost_usd: fc.constant(0.5) }),
  }),
)

/** An arbitrary log with workers, whose clock goes forward and, at times, back. */
const anyTimedLog = (maxLength: number): fc.Arbitrary<SessionEvent[]> =>
  fc
    .tuple(
      anyLog(maxLength),
      fc.array(fc.integer({ min: -2000, max: 60_000 }), { minLength: maxLength, maxLength }),
      fc.array(fc.option(anyWorkerEvent, { freq: 6 }), { minLength: maxLength, maxLength }),
    )
    .map(([events, steps, workers]) => {
      let at = START
      return events.map((event, index) => {
        at += steps[index] ?? 0
        return { ...event, ...workers[index], created_at: new Date(at).toISOString() } as SessionEvent
      })
    })

function foldOf(events: readonly SessionEvent[]): SpanFold {
  const fold = emptySpanFold()
  foldSpans(fold, events)
  return fold
}

const all = ({ count }: Spans): number[] => Array.from({ length: count }, (_, span) => span)

type Line = [seconds: number, type: EventType, data: object]
const logOf = (lines: readonly Line[]): SessionEvent[] =>
  lines.map(
    ([seconds, type, data], at) =>
      ({
        id: at + 1,
        session_id: 's',
        type,
        created_at: new Date(START + seconds * 1000).toISOString(),
        data,
      }) as SessionEvent,
  )

const turn = { turn_id: 't', iteration_index: 0 }
const request = { model: 'acme/large', ...turn }
const response = { message: { role: 'assistant', content: '' }, model: 'acme/large', ...turn }
const call = (id: string, name: string, args: object = {}) => ({ tool_call_id: id, name, arguments: args })
const result = (id: string, name: string, content: object) => ({
  tool_call_id: id,
  name,
  content: JSON.stringify(content),
  elapsed_ms: 5,
})

/** Each span as kind, name, start and end in seconds, and its flags that are set. */
const shown = ({ spans }: SpanFold): [SpanKind, string, number, number | null][] =>
  all(spans).map(span => [
    kindOf(spans, span),
    spans.names[span] ?? '',
    ((spans.from[span] ?? 0) - START) / 1000,
    isOpen(spans, span) ? null : ((spans.to[span] ?? 0) - START) / 1000,
  ])

test('every span ends at or before its turn, starts in order, and no ended turn has an open span', () => {
  fc.assert(
    fc.property(anyTimedLog(60), events => {
      const { spans } = foldOf(events)
      for (const span of all(spans)) {
        const parent = spans.parent[span] ?? -1
        expect(spans.from[span]).toBeGreaterThanOrEqual(
          span === 0 ? START - 2000 * 60 : (spans.from[span - 1] ?? 0),
        )
        if (!isOpen(spans, span)) expect(spans.to[span]).toBeGreaterThanOrEqual(spans.from[span] ?? 0)
        if (parent === -1) continue
        expect(kindOf(spans, parent)).toBe('turn')
        expect(spans.from[span]).toBeGreaterThanOrEqual(spans.from[parent] ?? 0)
        if (!isOpen(spans, parent)) expect(spans.to[span]).toBeLessThanOrEqual(spans.to[parent] ?? 0)
      }
    }),
    { numRuns: 500 },
  )
})

test('the fold does not depend on batches, on repeated events, or on a pause in the record of the API', () => {
  fc.assert(
    fc.property(anyTimedLog(60), fc.nat({ max: 60 }), (events, cut) => {
      const frozen = structuredClone(events)
      const whole = foldOf(events)
      const fold = foldOf(events.slice(0, cut))
      // What the server sent as JSON continues where it stopped.
      const resumed = unpackSpans(JSON.parse(JSON.stringify(packSpans('s', fold))))
      foldSpans(resumed, events)
      expect(shown(resumed)).toEqual(shown(whole))
      expect(packSpans('s', resumed)).toEqual(packSpans('s', whole))
      foldSpans(fold, events)
      expect(packSpans('s', fold)).toEqual(packSpans('s', whole))
      expect(events, 'the fold changes no event').toEqual(frozen)
    }),
    { numRuns: 300 },
  )
})

test('a reader that leaves out the chunks of answers gets the same spans', () => {
  fc.assert(
    fc.property(anyTimedLog(60), events => {
      const kept = foldOf(events.filter(({ type }) => type !== 'llm.delta'))
      expect(shown(kept)).toEqual(shown(foldOf(events)))
    }),
    { numRuns: 200 },
  )
})

test('a span takes 32 bytes', () => {
  expect(SPAN_BYTES).toBeLessThanOrEqual(32)
})

test('a turn has its model calls with the time before the first token, and its tool calls with their outcome', () => {
  const fold = foldOf(
    logOf([
      [0, 'user.message', { content: 'Why does it stall? Fix it.' }],
      [1, 'harness.wake', { worker_id: 'w', cursor: 0 }],
      [2, 'llm.request', request],
      [10, 'llm.response', { ...response, first_token_ms: 4000 }],
      [10, 'tool.call', call('c1', 'terminal', { command: 'npm test' })],
      [41, 'tool.result', result('c1', 'terminal', { exit_code: 3, stdout: 'no' })],
      [42, 'session.complete', { reason: 'completed' }],
    ]),
  )
  const { spans } = fold
  expect(shown(fold)).toEqual([
    ['turn', '', 0, 42],
    ['model', 'acme/large', 2, 10],
    ['tool', 'terminal', 10, 41],
  ])
  expect(spans.objects).toEqual(['Why does it stall? Fix it.', '', 'npm test'])
  expect((spans.first[1] ?? 0) / 255).toBeCloseTo(0.5, 2)
  expect(hasFlag(spans, 2, 'failed')).toBe(true)
  expect(spans.facts.get(2)).toEqual({ exit: 3 })
})

test('the time of the first token is known without the answer stating it, also across a pause of the reader', () => {
  const lines = logOf([
    [0, 'user.message', { content: 'go' }],
    [1, 'llm.request', request],
    [4, 'llm.delta', { content: 'a', ...turn }],
    [5, 'llm.delta', { content: 'b', ...turn }],
    [7, 'llm.response', response],
  ])
  const resumed = unpackSpans(packSpans('s', foldOf(lines.slice(0, 3))))
  foldSpans(resumed, lines)
  expect((resumed.spans.first[1] ?? 0) / 255).toBeCloseTo(0.5, 2)
})

test('a failure is seen in the summary of many spans, wherever it is among them', () => {
  for (let failed = 0; failed < 40; failed++) {
    const calls = Array.from({ length: 40 }, (_, at): Line[] => [
      [at, 'tool.call', call(`c${at}`, 'terminal')],
      [at, 'tool.result', result(`c${at}`, 'terminal', { exit_code: at === failed ? 1 : 0 })],
    ])
    const { spans, at } = foldOf(logOf([[0, 'user.message', { content: 'go' }], ...calls.flat()]))
    const pieces = [...piecesOf(buildPyramid(spans, at), { first: 0, last: spans.count - 1, minMs: 1e9 })]
    expect(pieces).toHaveLength(1)
    expect(pieces[0]).toMatchObject({ span: -1, kind: kindNumber('tool'), signs: SIGN.failed })
  }
})

test('kill -9: the gap begins after the last sign of the runner, and no call reaches into it', () => {
  const fold = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      [1, 'llm.request', request],
      [2, 'llm.response', response],
      [3, 'tool.call', call('c1', 'terminal', { command: 'sleep 60' })],
      [40, 'harness.recovered', { recovered_by: 'w', stale_seconds: 18 }],
      [41, 'harness.wake', { worker_id: 'w', cursor: 1 }],
      [42, 'tool.result', result('c1', 'terminal', { error: 'Tool execution failed: outcome unknown' })],
      [43, 'llm.request', request],
      [50, 'llm.response', response],
      [51, 'session.complete', { reason: 'completed' }],
    ]),
  )
  expect(shown(fold)).toEqual([
    ['turn', '', 0, 51],
    ['model', 'acme/large', 1, 2],
    ['tool', 'terminal', 3, 22],
    ['gap', '', 22, 40],
    ['model', 'acme/large', 43, 50],
  ])
  expect(hasFlag(fold.spans, 2, 'failed'), 'the late result states the outcome').toBe(true)
})

test('an approval is the wait of its call, keeps the turn open, and ends with the decision', () => {
  const lines: Line[] = [
    [0, 'user.message', { content: 'migrate' }],
    [1, 'llm.request', request],
    [2, 'llm.response', response],
    [3, 'tool.call', call('c1', 'terminal', { command: 'npm run migrate' })],
    [3, 'inbox.governance_gate', { tool_call_id: 'c1', tool_name: 'terminal', arguments_excerpt: '' }],
    [3, 'tool.result', result('c1', 'terminal', { error: 'policy_blocked_overridable' })],
    [5, 'session.complete', { reason: 'completed' }],
  ]
  const waiting = foldOf(logOf(lines))
  expect(shown(waiting)).toEqual([
    ['turn', '', 0, null],
    ['model', 'acme/large', 1, 2],
    ['wait', 'terminal', 3, null],
  ])
  expect(hasFlag(waiting.spans, 0, 'ended')).toBe(true)
  const decided = foldOf(
    logOf([
      ...lines,
      [2600, 'session.resume', { source: 'inbox' }],
      [
        2600,
        'user.message',
        {
          content: '[Decision]',
          synthetic: 'governance_decision',
          tool_call_id: 'c1',
          metadata: { decision: 'approve' },
        },
      ],
      [2601, 'harness.wake', { worker_id: 'w', cursor: 7 }],
    ]),
  )
  expect(shown(decided)).toEqual([
    ['turn', '', 0, 2600],
    ['model', 'acme/large', 1, 2],
    ['wait', 'terminal', 3, 2600],
    ['turn', 'governance_decision', 2600, null],
  ])
  expect(hasFlag(decided.spans, 2, 'approved')).toBe(true)
  // 42 minutes of waiting are a break of the axis in active time.
  const idle = idleStretches(decided.spans, { from: START, to: START + 2_601_000 }, START + 2_601_000)
  expect(idle).toEqual([{ from: START + 2000, to: START + 2_601_000 }])
})

test('a question, an action and a pause are waits too', () => {
  const fold = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      [1, 'tool.call', call('q', 'ask_user_question')],
      [1, 'inbox.input_required', { tool_call_id: 'q', questions: [] }],
      [30, 'ask_user_question.response', { tool_call_id: 'q', responses: [] }],
      [30, 'tool.result', result('q', 'ask_user_question', { responses: [] })],
      [31, 'session.pause', {}],
      [60, 'session.resume', { source: 'user' }],
      [61, 'tool.call', call('a', 'request_user_action', { title: 'Log in' })],
      [61, 'inbox.action_required', { title: 'Log in', tool_call_id: 'a', action_type: 'login' }],
      [61, 'tool.result', result('a', 'request_user_action', { ok: true })],
      [62, 'session.complete', { reason: 'completed' }],
      [90, 'user.message', { content: '[Done] This is done: Log in', synthetic: 'action_completed' }],
    ]),
  )
  expect(shown(fold)).toEqual([
    ['turn', '', 0, 90],
    ['wait', 'ask_user_question', 1, 30],
    ['wait', 'pause', 31, 60],
    ['wait', 'request_user_action', 61, 90],
    ['turn', 'action_completed', 90, null],
  ])
})

test('a worker has its cost and outcome, stands for the call that started it, and can outlive the turn', () => {
  const fold = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      [1, 'tool.call', call('c1', 'spawn_worker', { goal: 'Count' })],
      [
        1,
        'worker.spawned',
        { worker_id: 'w1', goal: 'Count', agent: 'helper', depth: 1, tool_call_id: 'c1' },
      ],
      [2, 'tool.result', result('c1', 'spawn_worker', {})],
      [3, 'context.compact', { strategy: 'summary' }],
      [4, 'session.complete', { reason: 'completed' }],
      [20, 'worker.failed', { worker_id: 'w1', error: 'e', cause: 'error', cost_usd: 0.11 }],
    ]),
  )
  const { spans } = fold
  expect(shown(fold)).toEqual([
    ['turn', '', 0, 20],
    ['tool', 'spawn_worker', 1, 2],
    ['worker', 'helper', 1, 20],
    ['mark', 'context.compact', 3, 3],
  ])
  expect(spans.facts.get(2)).toEqual({ session_id: 'w1', cost_usd: 0.11 })
  expect(hasFlag(spans, 2, 'failed')).toBe(true)
  const rows = rowsOfRun({
    session: 's',
    tables: new Map([['s', spans]]),
    isOpen: () => undefined,
    matches: null,
  })
  expect(rows.map(row => [row.span, row.level])).toEqual([
    [0, 0],
    [2, 1],
  ])
})

test('neighbouring reads are one row, which opens; a model call between them parts them', () => {
  const read = (id: string, at: number): Line[] => [
    [at, 'tool.call', call(id, 'read_file', { path: id })],
    [at, 'tool.result', result(id, 'read_file', { content: '' })],
  ]
  const { spans } = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      ...read('a', 1),
      ...read('b', 2),
      ...read('c', 3),
      [4, 'llm.request', request],
      [5, 'llm.response', response],
      ...read('d', 6),
    ]),
  )
  const rowsWhen = (isOpen: boolean) =>
    rowsOfRun({
      session: 's',
      tables: new Map([['s', spans]]),
      isOpen: key => (key.endsWith('+') ? isOpen : undefined),
      matches: null,
    }).map(({ span, last, count, level }) => [span, last, count, level])
  expect(rowsWhen(false)).toEqual([
    [0, 0, 1, 0],
    [1, 3, 3, 1],
    [4, 4, 1, 1],
    [5, 5, 1, 1],
  ])
  expect(rowsWhen(true)).toEqual([
    [0, 0, 1, 0],
    [1, 3, 3, 1],
    [1, 1, 1, 2],
    [2, 2, 1, 2],
    [3, 3, 1, 2],
    [4, 4, 1, 1],
    [5, 5, 1, 1],
  ])
})

test('an opened worker shows the steps of its own log, without a row for its only turn', () => {
  const parent = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      [1, 'worker.spawned', { worker_id: 'w1', goal: 'Count', agent: 'helper', depth: 1 }],
    ]),
  ).spans
  const child = foldOf(
    logOf([
      [1, 'user.message', { content: 'Count' }],
      [2, 'llm.request', request],
    ]),
  ).spans
  const rows = rowsOfRun({
    session: 's',
    tables: new Map([
      ['s', parent],
      ['w1', child],
    ]),
    isOpen: () => true,
    matches: null,
  })
  expect(rows.map(({ session, span, level }) => [session, span, level])).toEqual([
    ['s', 0, 0],
    ['s', 1, 1],
    ['w1', 1, 2],
  ])
})

test('each event leads to its span: the one that it starts or ends, else the one around it', () => {
  const { spans } = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      [1, 'tool.call', call('a', 'terminal')],
      [1, 'tool.call', call('b', 'terminal')],
      [2, 'tool.result', result('b', 'terminal', {})],
      [3, 'tool.result', result('a', 'terminal', {})],
      [4, 'iteration.summary', { ...turn, summary: 's', tool_call_ids: [] }],
    ]),
  )
  expect([0, 1, 2, 3, 4, 5, 6].map(event => spanOfEvent(spans, event))).toEqual([-1, 0, 1, 2, 2, 1, 2])
})

test('a position on the axis and its time are inverse, and the axis never runs backwards', () => {
  const stretches = fc
    .array(fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 10_001, max: 900_000 })), {
      maxLength: 8,
    })
    .map(pairs => {
      let at = 0
      return pairs.map(([busy, idle]) => {
        const from = at + busy
        at = from + idle
        return { from, to: at }
      })
    })
  fc.assert(
    fc.property(
      stretches,
      fc.integer({ min: 1, max: 5000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (breaks, tail, part) => {
        const to = (breaks.at(-1)?.to ?? 0) + tail
        const axis = createAxis({ from: 0, to }, breaks)
        expect(axis.at(to)).toBeCloseTo(axis.length, 3)
        expect(axis.timeAt(axis.length)).toBeCloseTo(to, 3)
        const time = part * to
        expect(axis.timeAt(axis.at(time))).toBeCloseTo(time, 0)
        expect(axis.at(time + 1)).toBeGreaterThanOrEqual(axis.at(time))
        const idle = breaks.reduce((sum, one) => sum + one.to - one.from, 0)
        expect(axis.active(0, to)).toBeCloseTo(to - idle, 3)
      },
    ),
  )
})

test('in clock time and active time, stretches without work of at most 10 s stay', () => {
  const { spans } = foldOf(
    logOf([
      [0, 'user.message', { content: 'go' }],
      [0, 'tool.call', call('a', 'terminal')],
      [5, 'tool.result', result('a', 'terminal', {})],
      [15, 'tool.call', call('b', 'terminal')],
      [16, 'tool.result', result('b', 'terminal', {})],
      [27, 'session.complete', { reason: 'completed' }],
    ]),
  )
  expect(idleStretches(spans, { from: START, to: START + 27_000 }, START + 27_000)).toEqual([
    { from: START + 16_000, to: START + 27_000 },
  ])
})

test('the pieces of a drawing cover what the spans cover, whatever its resolution', () => {
  fc.assert(
    fc.property(anyTimedLog(120), fc.integer({ min: 0, max: 500_000 }), (events, minMs) => {
      const { spans, at } = foldOf(events)
      const isDrawn = (span: number): boolean =>
        spans.kind[span] !== kindNumber('turn') && spans.kind[span] !== kindNumber('mark')
      const pyramid = buildPyramid(spans, at)
      const pieces = [...piecesOf(pyramid, { first: 0, last: spans.count - 1, minMs })]
      for (const span of all(spans).filter(isDrawn)) {
        const from = spans.from[span] ?? 0
        const to = endOf(spans, span, at)
        expect(pieces.some(piece => piece.from <= from && piece.to >= to)).toBe(true)
      }
      expect(pieces.filter(({ span, from, to }) => span === -1 && to - from > minMs)).toEqual([])
      expect(pieces.some(({ signs }) => (signs & 1) !== 0)).toBe(
        all(spans).some(span => isDrawn(span) && hasFlag(spans, span, 'failed')),
      )
    }),
    { numRuns: 150 },
  )
})
