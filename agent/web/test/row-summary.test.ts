import { EVENTS, EVENT_TYPES, type SessionEvent, summarize, toolError } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { eventAt, sampleData } from './sample-data.ts'

const tables = EVENT_TYPES.flatMap(
  type =>
    [
      [type, 'required keys', false],
      [type, 'all keys', true],
    ] as const,
)

test.each(tables)('%s has a one-line summary with its %s', (type, _which, full) => {
  const data = sampleData(type, full)
  expect(EVENTS[type].read.safeParse(data).success).toBe(true)
  const line = summarize({ ...eventAt(1, type), data } as SessionEvent)
  expect(line).toBe((EVENTS[type].summary as (data: unknown) => string)(data))
  expect(line).not.toMatch(/undefined|\[object|NaN|\n/)
  expect(line.length).toBeLessThan(400)
})

test('does not show a sum of calls without a rate as free', () => {
  const data = { ...sampleData('turn.summary', true), cost_usd: 0 }
  const line = summarize({ ...eventAt(1, 'turn.summary'), data } as SessionEvent)
  expect(line).toContain('in')
  expect(line).not.toContain('$')
  const priced = summarize({ ...eventAt(1, 'turn.summary'), data: { ...data, cost_usd: 2 } } as SessionEvent)
  expect(priced).toContain('$2')
})

test('a payload that does not fit its type falls back to its JSON', () => {
  const event = { ...eventAt(1, 'tool.call'), data: { name: 7 } } as unknown as SessionEvent
  expect(summarize(event)).toBe('{"name":7}')
})

test('an event type of a newer server falls back to its JSON', () => {
  const event = {
    id: 1,
    session_id: 's',
    type: 'moon.phase',
    created_at: '',
    data: { phase: 'full' },
  } as unknown as SessionEvent
  expect(summarize(event)).toBe('{"phase":"full"}')
})

test('a tool result is an error if its content is a JSON object with the key error', () => {
  expect(toolError('{"error": "Tool execution failed: exit \\"1\\""}')).toBe(
    'Tool execution failed: exit "1"',
  )
  expect(toolError('{"exit": 1, "error": "late"}')).toBe('late')
  expect(toolError('{"rows": 1}')).toBe(null)
  expect(toolError('{ not json "error"')).toBe(null)
  expect(toolError('["error"]')).toBe(null)
  expect(toolError('{"message":"\\"error\\""}')).toBe(null)
  expect(toolError('error: plain text')).toBe(null)
  expect(
    summarize(
      eventAt(1, 'tool.result', {
        name: 'sh',
        content: '{"error":"Tool execution failed: no"}',
        elapsed_ms: 0,
      }),
    ),
  ).toBe('sh refused · ✕ Tool execution failed: no')
})

test('a call held for approval is neither rejected nor an error', () => {
  const content = '{"error":"policy_blocked_overridable","message":"requires approval","tool_call_id":"c"}'
  expect(summarize(eventAt(1, 'tool.result', { name: 'sh', content, elapsed_ms: 0 }))).toBe(
    'sh held for approval',
  )
})

test('both forms of policy.allowed and of harness.wake have their own line', () => {
  expect(
    summarize(eventAt(1, 'policy.allowed', { tool: 'sh', check: 'governance_gate', timestamp: 1 })),
  ).toBe('sh · governance_gate')
  const retry = {
    ...eventAt(1, 'policy.allowed'),
    data: { tool_name: 'sh', reason: 'human approval', tool_call_id: 'c' },
  } as unknown as SessionEvent
  expect(summarize(retry)).toBe('sh · human approval')
  const review = {
    ...eventAt(1, 'harness.wake'),
    data: { worker_id: 'w', review_memory: true, review_skills: false },
  } as unknown as SessionEvent
  expect(summarize(review)).toBe('worker w · background review')
})
