/** The fold of a log into spans for OpenTelemetry, on arbitrary logs and on logs with known steps. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventType, SessionEvent } from '@cairn/protocol'
import {
  createTelemetryFold,
  foldTelemetry,
  type TelemetryFold,
  type TelemetryOptions,
  type TelemetrySpan,
} from '@cairn/state'
import { anyLog } from './any-log.ts'

const SESSION = { id: 's', agent: 'assistant' }
const PLAIN: TelemetryOptions = { content: false, users: false }
const START = Date.UTC(2026, 0, 1)

const spansOf = (events: readonly SessionEvent[], options = PLAIN): TelemetrySpan[] => {
  const fold = createTelemetryFold(SESSION, options)
  return events.flatMap(event => foldTelemetry(fold, event))
}
const keyOf = ({ event_id, kind }: TelemetrySpan): string => `${event_id} ${kind}`

/** Promise 12.5: The spans of a log that is read again are those that were sent. */
test('a fold that continues from its rest gives the spans of the whole log, wherever it stops', () => {
  fc.assert(
    fc.property(anyLog(60), fc.array(fc.nat({ max: 60 }), { maxLength: 4 }), (events, stops) => {
      const whole = spansOf(events)
      const cuts = [...new Set(stops)].toSorted((a, b) => a - b)
      const seen: TelemetrySpan[] = []
      let fold = createTelemetryFold(SESSION, PLAIN)
      let sent = 0
      for (const event of events) {
        // A process that dies starts from what it saved, and sends nothing that it has sent.
        if (cuts.includes(event.id)) fold = resumed(fold, events, sent)
        seen.push(...foldTelemetry(fold, event))
        sent = event.id
      }
      expect(seen).toEqual(whole)
    }),
  )
})

function resumed({ rest }: TelemetryFold, events: readonly SessionEvent[], sent: number): TelemetryFold {
  const fold = createTelemetryFold(SESSION, PLAIN, structuredClone(rest))
  for (const event of events) if (event.id > rest.through && event.id <= sent) foldTelemetry(fold, event)
  return fold
}

test('chunks of answers change no span, names are unique, and every parent is a turn', () => {
  fc.assert(
    fc.property(anyLog(60), events => {
      const whole = spansOf(events)
      expect(spansOf(events.filter(({ type }) => type !== 'llm.delta'))).toEqual(whole)
      expect(new Set(whole.map(keyOf)).size).toBe(whole.length)
      for (const span of whole) expect(span.to).toBeGreaterThanOrEqual(span.from)
    }),
  )
})

type Line = [seconds: number, type: EventType, data: object]
const log = (...lines: Line[]): SessionEvent[] =>
  lines.map(([seconds, type, data], index) => {
    const created_at = new Date(START + seconds * 1000).toISOString()
    return { id: index + 1, session_id: 's', type, created_at, data } as SessionEvent
  })

const turn = { turn_id: 't', iteration_index: 0 }
const SECRET = 'leak-marker-1'
const response = (content: string, calls: string[] = []) => ({
  message: {
    role: 'assistant',
    content,
    tool_calls: calls.map(id => ({
      id,
      type: 'function',
      function: { name: 'terminal', arguments: SECRET },
    })),
  },
  model: 'test/large-2',
  input_tokens: 10,
  output_tokens: 5,
  reasoning_tokens: 0,
  cache_read_tokens: 3,
  finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
  context_window: 1000,
  ...turn,
})
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const TALK = log(
  [0, 'user.message', { content: SECRET, principal_user_id: 'ann', metadata: { traceparent } }],
  [1, 'harness.wake', { worker_id: 'w', cursor: 0, agent_version: 4 }],
  [1, 'llm.request', { model: 'test/large', ...turn }],
  [3, 'llm.response', response(SECRET, ['c1'])],
  [3, 'tool.call', { tool_call_id: 'c1', name: 'terminal', arguments: { command: SECRET } }],
  [
    5,
    'tool.result',
    { tool_call_id: 'c1', name: 'terminal', content: `{"error":"${SECRET}"}`, elapsed_ms: 1 },
  ],
  [5, 'llm.request', { model: 'test/large', ...turn, iteration_index: 1 }],
  [6, 'llm.response', response('Done.')],
  [7, 'session.complete', { reason: 'completed' }],
  [9, 'user.feedback', { target_event_id: 8, rating: 'up', source: 'user', score: 0.5, reason: SECRET }],
)

test('a turn with a call has the names and attributes of the conventions', () => {
  const caller = { trace_id: '0af7651916cd43dd8448eb211c80319c', parent_span_id: 'b7ad6b7169203331' }
  const spans = spansOf(TALK)
  expect(spans.map(({ name }) => name)).toEqual([
    'chat large',
    'execute_tool terminal',
    'chat large',
    'invoke_agent assistant',
    'cairn.rating',
  ])
  for (const { trace } of spans) expect(trace).toEqual({ session_id: 's', exchange: 1, caller })
  const [chat, tool, , agent, rating] = spans
  expect(chat).toMatchObject({
    event_id: 3,
    parent: 1,
    is_client: true,
    from: START + 1000,
    to: START + 3000,
    error: null,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'test',
      'gen_ai.request.model': 'large',
      'gen_ai.response.model': 'large-2',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.conversation.id': 's',
    },
  })
  expect(tool).toMatchObject({
    error: 'tool_error',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'terminal',
      'gen_ai.tool.call.id': 'c1',
    },
  })
  expect(agent).toMatchObject({
    parent: null,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.version': '4' },
  })
  expect(rating?.attributes).toMatchObject({
    'gen_ai.evaluation.score.label': 'up',
    'gen_ai.evaluation.score.value': 0.5,
  })
})

/** Promise 12.6: Without `otel.content` no span contains a message, an argument or a result. */
test('content and persons are left out unless the configuration asks for them', () => {
  const text = JSON.stringify(spansOf(TALK))
  expect(text).not.toContain(SECRET)
  expect(text).not.toContain('ann')
  const everything = JSON.stringify(spansOf(TALK, { content: true, users: true }))
  for (const key of [
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.tool.call.arguments',
    'gen_ai.tool.call.result',
    'gen_ai.evaluation.explanation',
    'user.id',
  ])
    expect(everything).toContain(key)
})

test('a worker links to the trace of its session, and a failure and a crash name their error', () => {
  const events = log(
    [0, 'user.message', { content: 'go' }],
    [0, 'worker.spawned', { worker_id: 'child', goal: 'count', agent: 'helper' }],
    [1, 'llm.request', { model: 'test/m', ...turn }],
    [2, 'session.fail', { reason: 'x', error_category: 'rate_limit', error: 'busy', retryable: true }],
    [4, 'worker.complete', { worker_id: 'child', result: 'five' }],
  )
  const spans = spansOf(events)
  expect(spans.map(({ name, error }) => [name, error])).toEqual([
    ['chat m', 'rate_limit'],
    ['invoke_agent assistant', 'rate_limit'],
    ['invoke_agent helper', null],
  ])
  expect(spans[2]?.links).toEqual([{ session_id: 'child', exchange: 1, caller: null }])
})

test('a gate is an approval with its decision, in the trace of the message that led to it', () => {
  const gate = { tool_call_id: 'c1', tool_name: 'terminal', arguments: { command: SECRET }, policy_id: 'p' }
  const events = log(
    [0, 'user.message', { content: 'run' }],
    [0, 'tool.call', { tool_call_id: 'c1', name: 'terminal', arguments: {} }],
    [1, 'inbox.governance_gate', gate],
    [2, 'session.complete', { reason: 'completed' }],
    [
      60,
      'user.message',
      {
        content: 'ok',
        synthetic: 'governance_decision',
        tool_call_id: 'c1',
        metadata: { decision: 'approve' },
      },
    ],
    [61, 'session.complete', { reason: 'completed' }],
  )
  const approval = spansOf(events).find(({ name }) => name === 'cairn.approval')
  expect(approval).toMatchObject({
    trace: { exchange: 1 },
    to: START + 60_000,
    attributes: { 'cairn.decision': 'approved' },
  })
  expect(new Set(spansOf(events).map(({ trace }) => trace.exchange))).toEqual(new Set([1]))
})
