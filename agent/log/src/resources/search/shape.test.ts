import type { EventType } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { emptyShape, foldShape, MAX_STRETCHES, type ShapeState, sharesOf } from './shape.ts'

type Step = [at: number, type: EventType, data?: Record<string, unknown>]
const fold = (steps: readonly Step[], from: ShapeState = emptyShape): ShapeState =>
  steps.reduce((state, [at, type, data = {}]) => foldShape(state, at, type, data), from)

const called = (at: number, name: string, args = {}): Step => [
  at,
  'tool.call',
  { tool_call_id: name, name, arguments: args },
]

test('a turn is drawn as its model calls, tools, browser, workers and waits, in order', () => {
  const state = fold([
    [0, 'user.message', { content: 'go' }],
    [10, 'llm.request'],
    [110, 'llm.response', { message: { content: '' } }],
    called(110, 'terminal', { command: 'npm test' }),
    [310, 'tool.result', { content: '{"stdout":""}' }],
    called(310, 'browser_navigate'),
    called(360, 'delegate_task'),
    [960, 'tool.result', { content: '{}' }],
    [960, 'inbox.input_required', { questions: [] }],
    [980, 'turn.summary'],
    [1060, 'ask_user_question.response'],
    [2000, 'llm.request'],
    [2100, 'session.complete'],
  ])
  expect(state.stretches).toEqual([
    ['model', 100],
    ['tool', 200],
    ['browser', 50],
    ['worker', 600],
    ['wait', 100],
    ['model', 100],
  ])
  expect(state.current).toBeNull()
  const shares = sharesOf(state, 9_000_000)
  expect(shares.map(([kind]) => kind)).toEqual(['model', 'tool', 'browser', 'worker', 'wait', 'model'])
  expect(shares.reduce((sum, [, share]) => sum + share, 0)).toBeCloseTo(1, 2)
})

test('the current activity counts up to the last change', () => {
  const state = fold([[1000, 'llm.request']])
  expect(sharesOf(state, 4000)).toEqual([['model', 1]])
  const both = fold([called(3000, 'read_file')], state)
  expect(sharesOf(both, 9000)).toEqual([
    ['model', 0.25],
    ['tool', 0.75],
  ])
})

test('a failed call and a failed session are marked', () => {
  const state = fold([
    [0, 'llm.request'],
    called(100, 'terminal', { command: 'exit 3' }),
    [200, 'tool.result', { tool_call_id: 'terminal', content: '{"error":"exit 3"}', elapsed_ms: 100 }],
    [200, 'llm.request'],
    [
      300,
      'session.fail',
      { error_category: 'auth_failed', error: 'the key was rejected', reason: 'retries' },
    ],
  ])
  expect(state.stretches).toEqual([
    ['model', 100],
    ['failed', 200],
  ])
  expect(state.failure).toEqual({ category: 'auth_failed', error: 'the key was rejected' })
  expect(fold([[400, 'session.resume']], state).failure).toBeNull()
})

test('a call that fails at once does not hide another that is still running', () => {
  const state = fold([
    called(0, 'terminal'),
    called(1, 'read_file'),
    [1005, 'tool.result', { tool_call_id: 'terminal', content: '{"exit_code":0}', elapsed_ms: 1000 }],
    [1005, 'tool.result', { tool_call_id: 'read_file', content: '{"error":"no"}', elapsed_ms: 5 }],
    [1010, 'llm.request'],
  ])
  expect(state.stretches).toEqual([
    ['tool', 1000],
    ['failed', 5],
    ['tool', 5],
  ])
  expect(state.open).toEqual([])
})

test('the last step is the last call or text, and both are shortened', () => {
  const long = 'x'.repeat(5000)
  const state = fold([called(0, 'write_file', { path: 'a.txt', content: long, many: [long] })])
  expect(state.step).toEqual({ tool: 'write_file', arguments: { path: 'a.txt', content: 'x'.repeat(200) } })
  const said = fold([[1, 'llm.response', { message: { content: ` All ${long}` } }]], state)
  expect(said.step).toEqual({ text: `All ${'x'.repeat(196)}` })
  // A response that only calls tools has no text.
  expect(fold([[2, 'llm.response', { message: { content: '' } }]], said).step).toEqual(said.step)
})

test('a log of any length has at most 64 stretches, and no time is lost', () => {
  let state = emptyShape
  for (let n = 0; n < 5000; n++)
    state = fold([[n * 100, 'llm.request'], called(n * 100 + (n % 90), 'read_file')], state)
  state = fold([[500_000, 'session.complete']], state)
  expect(state.stretches.length).toBeLessThanOrEqual(MAX_STRETCHES)
  expect(state.stretches.length).toBeGreaterThan(MAX_STRETCHES / 2)
  expect(state.stretches.reduce((sum, [, ms]) => sum + ms, 0)).toBe(500_000)
  for (const [at, [kind]] of state.stretches.entries()) expect(kind).not.toBe(state.stretches[at - 1]?.[0])
  expect(sharesOf(state, 0).length).toBeLessThanOrEqual(MAX_STRETCHES)
})

test('a wait of days takes an eighth of a drawing at most, and a fast step can be seen', () => {
  const state = fold([
    [0, 'llm.request'],
    [10_000, 'inbox.governance_gate'],
    [900_000_000, 'llm.request'],
    called(900_010_000, 'read_file'),
    [900_010_001, 'session.complete'],
  ])
  const shares = sharesOf(state, 0)
  expect(shares.map(([kind]) => kind)).toEqual(['model', 'wait', 'model', 'tool'])
  expect(shares[1]?.[1]).toBeLessThan(0.125)
  expect(shares[3]?.[1]).toBeGreaterThanOrEqual(0.003)
})

test('a proposal does not wait for anyone', () => {
  const state = fold([
    [0, 'llm.request'],
    [5, 'inbox.action_required', { action_type: 'skill_proposal', proposal: {} }],
    [10, 'session.complete'],
  ])
  expect(state.stretches).toEqual([['model', 10]])
})
