import { expect, test } from 'vitest'
import { createEventIndex } from '../src/events/event-index.ts'
import { eventAt as at } from './sample-data.ts'

const used = (input: number, output: number, cost?: number) => ({
  message: { role: 'assistant', content: 'x' },
  input_tokens: input,
  output_tokens: output,
  reasoning_tokens: 3,
  cache_read_tokens: 5,
  ...(cost === undefined ? { cost_unpriced_model: 'm' } : { cost_usd: cost }),
})

function turnsOf(events: ReturnType<typeof at>[]) {
  const index = createEventIndex()
  index.append(events)
  return index.turns
}

test('a turn sums tokens and cost of each of its model calls, without the total of its summary', () => {
  const [turn, ...others] = turnsOf([
    at(1, 'user.message'),
    at(2, 'harness.wake'),
    at(3, 'llm.response', used(100, 10, 0.5)),
    at(4, 'advisor.result', { input_tokens: 20, output_tokens: 2, cost_usd: 0.25 }),
    at(5, 'expert.result', { input_tokens: 7, output_tokens: 1 }),
    at(6, 'llm.response', used(200, 20, 0.125)),
    at(7, 'turn.summary', { input_tokens: 999, output_tokens: 999, cost_usd: 9 }),
    at(8, 'session.complete', { reason: 'completed' }),
  ])
  expect(others).toEqual([])
  expect(turn).toMatchObject({
    number: 1,
    startId: 1,
    lastId: 8,
    inputTokens: 327,
    outputTokens: 33,
    reasoningTokens: 6,
    cacheReadTokens: 10,
    costUsd: 0.875,
    unpriced: false,
    llmCalls: 2,
    ending: 'completed',
  })
  expect(turn && turn.endedAt - turn.startedAt).toBe(70)
})

test('a call without a rate makes the cost a lower bound', () => {
  expect(turnsOf([at(1, 'harness.wake'), at(2, 'llm.response', used(1, 1))])[0]).toMatchObject({
    costUsd: 0,
    unpriced: true,
    ending: null,
  })
})

test('events after the end do not make the turn longer', () => {
  const [turn] = turnsOf([
    at(1, 'harness.wake'),
    at(2, 'session.complete', { reason: 'stopped' }),
    at(900, 'session.title_updated'),
    at(901, 'user.feedback'),
  ])
  expect(turn).toMatchObject({ endedAt: 20, ending: 'stopped', lastId: 901 })
})

test('counts tool calls and failed ones', () => {
  const [turn] = turnsOf([
    at(1, 'harness.wake'),
    at(2, 'tool.call'),
    at(3, 'tool.result', { content: '{"error":"Tool execution failed: x"}' }),
    at(4, 'tool.call'),
    at(5, 'tool.result', { content: 'fine' }),
  ])
  expect(turn).toMatchObject({ toolCalls: 2, toolErrors: 1 })
})

test('a wake after a crash or pause continues the turn; events after its end start another', () => {
  const turns = turnsOf([
    at(1, 'harness.wake'),
    at(2, 'harness.crash'),
    at(3, 'harness.recovered'),
    at(4, 'harness.wake'),
    at(5, 'session.pause'),
    at(6, 'harness.wake'),
    at(7, 'session.fail'),
    at(8, 'session.resume'),
    at(9, 'user.message'),
    at(10, 'harness.wake'),
    at(11, 'user.message'),
  ])
  expect(turns).toHaveLength(2)
  expect(turns[0]).toMatchObject({ wakes: 3, crashes: 1, recoveries: 1, ending: 'failed' })
  expect(turns[1]).toMatchObject({ number: 2, startId: 8, lastId: 11, wakes: 1 })
})

test('a background review is a separate turn', () => {
  const review = {
    ...at(3, 'harness.wake'),
    data: { worker_id: 'w', review_memory: true, review_skills: true },
  }
  const turns = turnsOf([
    at(1, 'harness.wake'),
    at(2, 'llm.response', used(1, 1, 0)),
    review as ReturnType<typeof at>,
    at(4, 'harness.wake'),
  ])
  expect(turns.map(turn => turn.review)).toEqual([false, true, false])
})

test('a background review has its own sum of tokens and cost', () => {
  const [, review] = turnsOf([
    at(1, 'harness.wake'),
    at(2, 'session.complete', { reason: 'completed' }),
    at(3, 'harness.wake', { worker_id: 'w', review_memory: true, review_skills: true }),
    at(4, 'inbox.task_complete', { input_tokens: 40, output_tokens: 4, cost_usd: 0.5 }),
  ])
  expect(review).toMatchObject({ review: true, inputTokens: 40, outputTokens: 4, costUsd: 0.5 })
})

test('a call held for approval is not a failure', () => {
  const result = (id: number, error: string) =>
    at(id, 'tool.result', { tool_call_id: `c${id}`, content: JSON.stringify({ error }), elapsed_ms: 0 })
  const [turn] = turnsOf([
    at(1, 'user.message'),
    result(2, 'policy_blocked_overridable'),
    result(3, 'Blocked: not allowed'),
    at(4, 'session.complete', { reason: 'completed' }),
  ])
  expect(turn).toMatchObject({ toolErrors: 1, toolsHeld: 1 })
})
