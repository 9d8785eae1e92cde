import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createHeldCalls } from './held-calls.ts'

let id = 0
const event = (type: string, data: object) =>
  ({ id: ++id, session_id: 's', type, created_at: '2026-11-26T08:00:00Z', data }) as SessionEvent
const gate = (tool_call_id: string, more = {}) => event('inbox.governance_gate', { tool_call_id, ...more })
const result = (tool_call_id: string, content: object) =>
  event('tool.result', { tool_call_id, content: JSON.stringify(content) })
const held = (tool_call_id: string, more = {}) =>
  result(tool_call_id, { error: 'policy_blocked_overridable', ...more })
const decision = (tool_call_id: string) =>
  event('user.message', { content: '', synthetic: 'governance_decision', tool_call_id })

function after(...events: SessionEvent[]) {
  const calls = createHeldCalls()
  events.forEach(calls.look)
  return calls
}

test('a held call waits for its own decision, not for that of another call', () => {
  const events = [gate('a'), gate('b')]
  expect(after(...events).isWaiting(held('a'))).toBe(true)
  expect(after(...events, decision('a')).isWaiting(held('a'))).toBe(false)
  expect(after(...events, decision('a')).isWaiting(held('b'))).toBe(true)
})

test('a repeated call waits for the decision on the first one', () => {
  const events = [gate('a'), gate('b', { repeats_tool_call_id: 'a' })]
  expect(after(...events).isWaiting(held('b'))).toBe(true)
  expect(after(...events, decision('a')).isWaiting(held('b'))).toBe(false)
})

test('a call with a parked run waits until every approval of the run is decided', () => {
  const parked = held('code', { status: 'parked', run_id: 'r' })
  const events = [gate('a', { run_id: 'r' }), gate('b', { run_id: 'r' })]
  expect(after(...events, decision('a')).isWaiting(parked)).toBe(true)
  expect(after(...events, decision('a'), decision('b')).isWaiting(parked)).toBe(false)
})

test('a failed or rejected call does not wait', () => {
  expect(after(gate('a')).isWaiting(result('a', { error: 'Blocked: no' }))).toBe(false)
  expect(after().isWaiting(held('a'))).toBe(false)
})
