import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { capabilityChanges, type CapabilityStates, emptyCapabilities } from '@cairn/state'
import { carriedState } from './carried.ts'
import { summaryMessage, textOfSummary } from './summary-message.ts'

type Line = [type: string, data: Record<string, unknown>]
const after = (...lines: readonly Line[]) =>
  carriedState(
    lines
      .map(
        ([type, data], index) =>
          ({
            id: index + 1,
            session_id: 's',
            type,
            created_at: '2026-01-01T00:00:00Z',
            data,
          }) as unknown as SessionEvent,
      )
      .reduce<CapabilityStates>(
        (states, event) => ({ ...states, ...capabilityChanges(states, event) }),
        emptyCapabilities,
      ),
  )

const goal: Line = [
  'outcome.defined',
  {
    outcome_id: 'g',
    description: 'ship it',
    rubric: { type: 'text', content: 'tests pass' },
    max_iterations: 5,
  },
]
const gate = (tool_call_id: string): Line => [
  'inbox.governance_gate',
  {
    tool_name: 'note',
    tool_call_id,
    arguments_excerpt: `{"of":"${tool_call_id}"}`,
    deny_reason: 'requires approval',
    policy_id: 'p',
  },
]

test('carries only the last plan', () => {
  const todo = (content: string) => ({ id: '1', content, status: 'pending' })
  expect(
    after(['todo.updated', { todos: [todo('old')] }], ['todo.updated', { todos: [todo('new')] }]).todos,
  ).toEqual([todo('new')])
})

test('carries a goal while it is active or paused', () => {
  expect(after(goal).goal).toMatchObject({ description: 'ship it', rubric: 'tests pass', status: 'active' })
  expect(after(goal, ['outcome.paused', { outcome_id: 'g', reason: 'user-paused' }]).goal?.status).toBe(
    'paused',
  )
  expect(after(goal, ['outcome.cleared', { outcome_id: 'g' }]).goal).toBeNull()
})

test('an approval is open until its own decision', () => {
  const decided: Line = [
    'user.message',
    { content: '[Decision]', synthetic: 'governance_decision', tool_call_id: 'a' },
  ]
  expect(after(gate('a'), gate('b')).waiting).toHaveLength(2)
  expect(after(gate('a'), gate('b'), ['user.message', { content: 'hello' }], decided).waiting).toEqual([
    expect.stringContaining('(b) with {"of":"b"}'),
  ])
})

test('an action is open until the user reports it as done', () => {
  const action: Line = [
    'inbox.action_required',
    {
      title: 'Log in',
      instructions: 'Open the page.',
      context: '',
      action_type: 'login',
      target: null,
      reason: '',
    },
  ]
  expect(after(action).waiting).toEqual(['an action: Log in. Open the page.'])
  expect(
    after(action, [
      'user.message',
      { content: '[Done] The user says that this is done: Log in', synthetic: 'action_completed' },
    ]).waiting,
  ).toEqual([])
})

test('keeps the newest hundred undecided approvals', () => {
  const { waiting } = after(...Array.from({ length: 150 }, (_, at) => gate(`call-${at}`)))
  expect(waiting).toHaveLength(100)
  expect(waiting[0]).toContain('(call-50)')
  expect(waiting.at(-1)).toContain('(call-149)')
})

/** Promise 14.4: A compaction keeps the list of active workers. */
test('carries running workers, with the instruction not to start them again', () => {
  const spawned = (worker_id: string, goal: string): Line => [
    'worker.spawned',
    { worker_id, goal, kind: 'worker', agent: 'assistant', depth: 1 },
  ]
  const state = after(
    spawned('w-1', 'count\n  the eggs'),
    spawned('w-2', 'weigh the basket'),
    ['worker.complete', { worker_id: 'w-1', result: '12', files_written: [] }],
    spawned('w-3', 'paint'),
  )
  expect(state.workers.map(({ worker_id }) => worker_id)).toEqual(['w-2', 'w-3'])
  const { content } = summaryMessage({ kind: 'summary', text: 'They asked for eggs.' }, state)
  expect(content).toContain(
    '[Workers at work; do not start them again]\n- w-2 (assistant): weigh the basket\n- w-3 (assistant): paint',
  )
  expect(textOfSummary(content)).toBe(
    textOfSummary(`[Summary of the conversation so far]\nThey asked for eggs.`),
  )
})
