import { EVENT_TYPES, EVENTS, typesWith } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { applyEffect, effectOf, type Projected } from './projection.ts'

const fresh = (): Projected => ({
  status: 'active',
  title: null,
  message_count: 0,
  tool_call_count: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  unpriced: 0,
  provisional: 0,
  wake_id: 0,
  asked_id: 0,
  saga: 0,
})
const after = (...events: [Parameters<typeof effectOf>[0], Record<string, unknown>][]): Projected => {
  const row = fresh()
  for (const [at, [type, data]] of events.entries()) {
    const effect = effectOf(type, data)
    if (effect !== null) applyEffect(row, at + 1, effect)
  }
  return row
}

test('exactly the listed event types ask for work', () => {
  expect(typesWith('wakes').toSorted()).toEqual([
    'ask_user_question.response',
    'loop.result',
    'session.resume',
    'task.blocked',
    'task.failed',
    'user.message',
    'worker.complete',
    'worker.failed',
  ])
  // The outcome of a scheduled run asks for work only if its schedule requests it.
  for (const type of EVENT_TYPES)
    expect(effectOf(type, { wake: true })?.wakes ?? false).toBe(EVENTS[type].facts.wakes ?? false)
  expect(effectOf('loop.result', {})).toBeNull()
})

test('the status follows the lifecycle events', () => {
  expect(after(['session.pause', {}]).status).toBe('paused')
  expect(after(['session.pause', {}], ['session.resume', {}]).status).toBe('active')
  expect(after(['session.complete', {}]).status).toBe('completed')
  expect(after(['session.fail', {}]).status).toBe('failed')
  expect(after(['session.stopped', {}]).status).toBe('active')
})

test('a pause, a stop or a failure marks a running saga for rollback until it is complete', () => {
  for (const cut of ['session.pause', 'session.stopped', 'session.fail'] as const) {
    expect(after([cut, {}]).saga).toBe(0)
    expect(after(['saga.start', {}], [cut, {}]).saga).toBe(2)
    expect(after(['saga.start', {}], [cut, {}], ['session.resume', {}], ['saga.complete', {}]).saga).toBe(0)
  }
  expect(after(['saga.start', {}], ['session.complete', {}]).saga).toBe(1)
})

test('a worker that its parent stopped causes no work, and any other outcome does', () => {
  expect(effectOf('worker.failed', { cause: 'parent' })).toBeNull()
  expect(effectOf('worker.failed', { cause: 'error' })).toEqual({ wakes: true })
  expect(effectOf('worker.complete', {})).toEqual({ wakes: true })
})

test('each event with its own usage counts once, and a summary that adds them up does not', () => {
  const usage = { input_tokens: 10, output_tokens: 1, cost_usd: 0.5 }
  const counted = [
    'llm.response',
    'advisor.result',
    'expert.result',
    'expert.failure',
    'span.outcome_evaluation_end',
    'context.compact',
    'code.run_result',
    'inbox.task_complete',
    'mission.evaluation.end',
    'research.harvested',
  ] as const
  expect(after(...counted.map(type => [type, usage] as [typeof type, typeof usage]))).toMatchObject({
    input_tokens: 100,
    output_tokens: 10,
    cost_usd: 5,
  })
  expect(after(['turn.summary', usage])).toEqual(fresh())
  const carriers = EVENT_TYPES.filter(type =>
    [...EVENTS[type].keys, ...EVENTS[type].extra].includes('input_tokens'),
  )
  // An outcome repeats what the session of the worker or run has counted.
  expect(carriers.toSorted()).toEqual(
    [...counted, 'turn.summary', 'worker.complete', 'worker.failed', 'loop.result'].toSorted(),
  )
})

test('unpriced or invalid usage adds nothing, and the session is marked as unpriced', () => {
  expect(
    after(
      ['llm.response', { input_tokens: 3, cost_unpriced_model: 'm' }],
      ['advisor.result', { output_tokens: Number.NaN }],
    ),
  ).toMatchObject({ input_tokens: 3, output_tokens: 0, cost_usd: 0, unpriced: 1 })
})

test('messages, tool calls and titles are counted', () => {
  expect(
    after(
      ['user.message', {}],
      ['tool.call', {}],
      ['tool.result', {}],
      ['user.message', { synthetic: 'x' }],
      ['session.title_updated', { title: 'T' }],
    ),
  ).toEqual({
    ...fresh(),
    message_count: 2,
    tool_call_count: 1,
    title: 'T',
    wake_id: 4,
  })
})

test('most events change only the log', () => {
  expect(effectOf('llm.request', { model: 'm' })).toBeNull()
  expect(effectOf('tool.result', { content: 'x' })).toBeNull()
})

test('a question and an action suspend the turn; a proposal and a gate do not', () => {
  expect(after(['inbox.input_required', {}]).asked_id).toBe(1)
  expect(after(['inbox.action_required', { title: 'Log in' }]).asked_id).toBe(1)
  expect(after(['inbox.action_required', { proposal: { name: 'sow' } }]).asked_id).toBe(0)
  expect(after(['inbox.governance_gate', {}]).asked_id).toBe(0)
})
