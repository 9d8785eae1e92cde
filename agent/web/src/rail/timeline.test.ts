import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { spansOf } from './timeline.ts'

const START = Date.parse('2026-11-21T08:00:00Z')
const at = (id: number, ms: number, type: string, data: object) =>
  ({ id, session_id: 's', type, created_at: new Date(START + ms).toISOString(), data }) as SessionEvent

test('model calls, parallel tools, waits and workers are spans with start and end', () => {
  const spans = spansOf([
    at(1, 0, 'llm.request', { model: 'm' }),
    at(2, 300, 'llm.delta', {}),
    at(3, 1000, 'llm.response', {}),
    at(4, 1000, 'tool.call', { tool_call_id: 'a', name: 'read_file' }),
    at(5, 1000, 'tool.call', { tool_call_id: 'b', name: 'terminal' }),
    at(6, 1500, 'tool.result', { tool_call_id: 'b', content: '{"error":"x"}' }),
    at(7, 2000, 'tool.result', { tool_call_id: 'a', content: 'ok' }),
    at(8, 2000, 'inbox.input_required', { tool_call_id: 'q' }),
    at(9, 9000, 'ask_user_question.response', { tool_call_id: 'q' }),
    at(10, 9000, 'worker.spawned', { worker_id: 'w', goal: 'count' }),
    at(11, 9500, 'llm.request', { model: 'm' }),
  ])
  expect(spans.map(({ kind, name, from, to }) => [kind, name, from - START, to && to - START])).toEqual([
    ['model', 'm', 0, 1000],
    ['tool', 'read_file', 1000, 2000],
    ['tool', 'terminal', 1000, 1500],
    ['wait', 'an answer', 2000, 9000],
    ['worker', 'count', 9000, null],
    ['model', 'm', 9500, null],
  ])
  expect(spans[0]?.firstAt).toBe(START + 300)
  expect(spans[2]?.failed).toBe(true)
})

test('a call held for approval is not a failure', () => {
  const [held] = spansOf([
    at(1, 0, 'tool.call', { tool_call_id: 'a', name: 'terminal' }),
    at(2, 0, 'tool.result', { tool_call_id: 'a', content: '{"error":"policy_blocked_overridable"}' }),
  ])
  expect(held?.failed).toBe(false)
})

test('without chunks, the response dates the first token; the end of a turn closes open spans', () => {
  const [model, tool] = spansOf([
    at(1, 0, 'llm.request', { model: 'm' }),
    at(9, 1000, 'llm.response', { first_token_ms: 250 }),
    at(10, 1000, 'tool.call', { tool_call_id: 'a', name: 'terminal' }),
    at(11, 1200, 'session.stopped', {}),
  ])
  expect(model?.firstAt).toBe(START + 250)
  expect(tool?.to).toBe(START + 1200)
})
