/** Small logs, of which docs/compatible-apis.md shows what each API makes of the last event. */
import type { EventType } from '@cairn/protocol'

type Entry = readonly [EventType, Record<string, unknown>]
/** `case` names which of several events of a type this is. */
export type Sample = { before: readonly Entry[]; event: Entry; case?: string }

const turn = { turn_id: 't', iteration_index: 0 }
const said: Entry = ['user.message', { content: 'hello' }]
const request: Entry = ['llm.request', { model: 'm', ...turn }]
const running = [said, request]
const response = (content: string, calls: readonly { id: string; name: string }[] = []): Entry => [
  'llm.response',
  {
    message: { role: 'assistant', content, tool_calls: calls.map(call => ({ ...call, arguments: '{}' })) },
    model: 'm',
    input_tokens: 1,
    output_tokens: 1,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'stop',
    context_window: 9,
    ...turn,
  },
]
const call = (name: string, more: Record<string, unknown> = {}): Entry => [
  'tool.call',
  { tool_call_id: 'c', name, arguments: {}, ...more },
]
const called = [...running, response('', [{ id: 'c', name: 'read_file' }])]
const ask = [...running, response('', [{ id: 'c', name: 'ask_user_question' }]), call('ask_user_question')]
const act = [
  ...running,
  response('', [{ id: 'c', name: 'request_user_action' }]),
  call('request_user_action'),
]
const question: Entry = ['inbox.input_required', { tool_call_id: 'c', questions: [{ prompt: 'Which?' }] }]
const action: Entry = [
  'inbox.action_required',
  {
    tool_call_id: 'c',
    item_id: 'i',
    title: 'Log in',
    instructions: 'Log in.',
    action_type: 'other',
    target: null,
  },
]
const gate: Entry = [
  'inbox.governance_gate',
  {
    tool_name: 'terminal',
    tool_call_id: 'c',
    arguments_excerpt: '',
    deny_reason: 'It asks.',
    policy_id: 'p',
    item_id: 'i',
  },
]
const marker: Entry = [
  'tool.result',
  {
    tool_call_id: 'c',
    name: 'terminal',
    content: JSON.stringify({ error: 'policy_blocked_overridable', message: 'why' }),
    elapsed_ms: 1,
  },
]
const complete: Entry = ['session.complete', { reason: 'completed' }]
const gated = [
  ...running,
  response('', [{ id: 'c', name: 'terminal' }]),
  call('terminal', { verdict: 'ask' }),
]
const waits = [...gated, gate, marker, complete]
const decision = (made: string): Entry => [
  'user.message',
  { content: '', synthetic: 'governance_decision', tool_call_id: 'c', metadata: { decision: made } },
]
const worker = { worker_id: 'w', goal: 'g', agent: 'assistant', kind: 'worker', depth: 1 }
const spawned: Entry = ['worker.spawned', worker]
const outcome = { outcome_id: 'o', iteration: 0 }

export const SAMPLES: readonly Sample[] = [
  { before: [], event: said },
  { before: running, event: ['user.message', { content: 'also' }], case: 'while a turn runs' },
  { before: waits, event: decision('approve'), case: 'an approval' },
  { before: waits, event: decision('reject'), case: 'a rejection' },
  { before: [said], event: request },
  { before: running, event: ['llm.delta', { content: 'Hel', ...turn }] },
  { before: running, event: ['llm.delta', { reasoning: 'I', ...turn }], case: 'reasoning' },
  {
    before: [...running, ['llm.delta', { content: 'Hel', ...turn }], request],
    event: ['llm.delta', { content: 'Hi', reset: true, ...turn }],
    case: 'after a retry',
  },
  { before: running, event: ['llm.thinking', { reasoning: 'I think.', ...turn }] },
  { before: running, event: response('Hello.') },
  { before: called, event: call('read_file') },
  {
    before: [...called, call('read_file')],
    event: ['tool.result', { tool_call_id: 'c', name: 'read_file', content: '{}', elapsed_ms: 1 }],
  },
  { before: gated, event: gate },
  { before: ask, event: question },
  {
    before: [...ask, question],
    event: ['ask_user_question.response', { tool_call_id: 'c', responses: [] }],
  },
  { before: act, event: action },
  {
    before: [...act, action],
    event: ['user.message', { content: '', synthetic: 'action_completed', inbox_item_id: 'i' }],
    case: 'a completed action',
  },
  { before: running, event: spawned },
  { before: [...running, spawned], event: ['worker.complete', { ...worker, result: 'r' }] },
  { before: [...running, spawned], event: ['worker.failed', { ...worker, error: 'e' }] },
  { before: running, event: ['todo.updated', { todos: [] }] },
  {
    before: running,
    event: ['artifact.created', { artifact_id: 'a', name: 'n', kind: 'file', version: 1 }],
  },
  { before: running, event: ['context.compact', { original_message_count: 9 }] },
  { before: running, event: ['session.title_updated', { title: 't' }] },
  {
    before: [],
    event: [
      'user.define_outcome',
      { outcome_id: 'o', description: 'd', rubric: { type: 'text', content: 'c' }, max_iterations: 3 },
    ],
  },
  { before: running, event: ['span.outcome_evaluation_start', outcome] },
  { before: running, event: ['span.outcome_evaluation_ongoing', outcome] },
  {
    before: running,
    event: [
      'span.outcome_evaluation_end',
      { ...outcome, outcome_evaluation_start_id: 1, result: 'satisfied', explanation: 'e' },
    ],
  },
  { before: running, event: ['mission.evaluation.end', { result: 'satisfied', explanation: 'e' }] },
  { before: [...running, response('Hello.')], event: complete },
  { before: [...gated, gate, marker], event: complete, case: 'an approval is open' },
  {
    before: running,
    event: ['session.complete', { reason: 'budget_exhausted' }],
    case: 'the budget is used up',
  },
  { before: running, event: ['session.stopped', { reason: 'r' }] },
  { before: running, event: ['session.pause', { reason: 'r' }] },
  {
    before: running,
    event: ['session.fail', { reason: 'r', error_category: 'provider_error', error: 'e', retryable: true }],
  },
]
