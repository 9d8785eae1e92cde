/** Logs for the properties of folds. */
import { EVALUATION_RESULTS, type EventType, type SessionEvent } from '@cairn/protocol'
import fc from 'fast-check'

const id = fc.constantFrom('c1', 'c2', 'c3')
const count = fc.nat({ max: 50 })
const outcome = { outcome_id: fc.constantFrom('o1', 'o2') }
const mission = { mission_id: fc.constantFrom('m1', 'm2') }
const usage = { input_tokens: count, output_tokens: count }
const turn = { turn_id: fc.constantFrom('t1', 't2'), iteration_index: fc.nat({ max: 3 }) }
const step = { saga_id: id, step_id: id, tool_name: fc.constant('write_file'), timestamp: count }
const toolCalls = fc
  .uniqueArray(id, { maxLength: 3 })
  .map(ids =>
    ids.map(call => ({ id: call, type: 'function', function: { name: 'read_file', arguments: '{}' } })),
  )

const PAYLOADS: Partial<Record<EventType, fc.Arbitrary<unknown>>> = {
  'user.message': fc.record(
    {
      content: fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('/goal pause', '/clear', '/review it')),
      synthetic: fc.constantFrom(
        'governance_decision',
        'outcome_kickoff',
        'outcome_continuation',
        'outcome_resumed',
        'mission_kickoff',
        'mission_continuation',
      ),
      outcome_id: fc.constantFrom('o1', 'o2'),
      tool_call_id: id,
      metadata: fc.constant({ decision: 'approve' }),
    },
    { requiredKeys: ['content'] },
  ),
  'llm.request': fc.record({ model: fc.constant('m'), ...turn }),
  'llm.delta': fc.record(
    { content: fc.string(), reasoning: fc.string(), reset: fc.boolean(), ...turn },
    { requiredKeys: ['turn_id', 'iteration_index'] },
  ),
  'llm.thinking': fc.record({ reasoning: fc.string(), ...turn }),
  'llm.response': fc.record({
    message: fc.record(
      { role: fc.constant('assistant'), content: fc.string(), tool_calls: toolCalls },
      { requiredKeys: ['role', 'content'] },
    ),
    model: fc.constant('m'),
    ...usage,
    reasoning_tokens: count,
    cache_read_tokens: count,
    finish_reason: fc.constantFrom('stop', 'tool_calls', 'command'),
    context_window: count,
    ...turn,
  }),
  'tool.call': fc.record({
    tool_call_id: id,
    name: fc.constantFrom('read_file', 'write_file'),
    arguments: fc.record({ path: fc.string() }),
  }),
  'tool.result': fc.record({
    tool_call_id: id,
    name: fc.constant('read_file'),
    content: fc.oneof(fc.string(), fc.constant('{"error":"x"}')),
    elapsed_ms: count,
  }),
  'inbox.input_required': fc.record({ tool_call_id: id, questions: fc.constant([{ prompt: 'Which?' }]) }),
  'inbox.governance_gate': fc.record({
    tool_name: fc.constant('terminal'),
    tool_call_id: id,
    arguments_excerpt: fc.constant('{}'),
    deny_reason: fc.constant('r'),
    policy_id: fc.constant('p'),
  }),
  'ask_user_question.response': fc.record({
    tool_call_id: id,
    responses: fc.constant([{ question: 'q', answer: 'a' }]),
  }),
  'context.compact': fc.record({
    strategy: fc.constantFrom('summary', 'clear'),
    original_message_count: count,
    compressed_message_count: count,
    through_event_id: fc.nat({ max: 40 }),
    compacted_messages: fc.constant([{ role: 'user', content: 's' }]),
  }),
  'user.feedback': fc.record({
    target_event_id: fc.integer({ min: 1, max: 40 }),
    rating: fc.constantFrom('up', 'down'),
    source: fc.constantFrom('user', 'judge'),
  }),
  'todo.updated': fc.record({ todos: fc.constant([{ id: '1', content: 'do', status: 'pending' }]) }),
  'session.complete': fc.record({ reason: fc.constantFrom('completed', 'tool_loop') }),
  'session.fail': fc.constant({ reason: 'r', error_category: 'network', error: 'e', retryable: true }),
  'session.pause': fc.constant({}),
  'session.resume': fc.constant({}),
  'session.stopped': fc.constant({ reason: 'user' }),
  'harness.wake': fc.constantFrom(
    { worker_id: 'w', cursor: 0 },
    { worker_id: 'w', review_memory: true, review_skills: false },
  ),
  'harness.recovered': fc.constant({ recovered_by: 'w', stale_seconds: 3 }),
  'harness.crash': fc.constant({ worker_id: 'w', error: 'e', error_category: 'internal', retryable: true }),
  'skill.invoked': fc.record({
    skill: fc.constant('review'),
    raw_message: fc.constant('/review it'),
    staged_at: fc.constant(null),
    user_message_id: fc.integer({ min: 1, max: 40 }),
    expanded: fc.string(),
  }),
  'outcome.defined': fc.record({
    ...outcome,
    description: fc.string(),
    rubric: fc.constant({ type: 'text', content: 'r' }),
    max_iterations: fc.integer({ min: 1, max: 20 }),
  }),
  'outcome.paused': fc.record(outcome),
  'outcome.cleared': fc.record({ outcome_id: fc.constantFrom('o1', null) }),
  'span.outcome_evaluation_start': fc.record({
    ...outcome,
    iteration: count,
    response_event_id: fc.integer({ min: 1, max: 40 }),
  }),
  'span.outcome_evaluation_ongoing': fc.record({ ...outcome, iteration: count }),
  'span.outcome_evaluation_end': fc.record({
    ...outcome,
    outcome_evaluation_start_id: fc.integer({ min: 1, max: 40 }),
    iteration: count,
    result: fc.constantFrom(...EVALUATION_RESULTS),
    explanation: fc.string(),
    feedback: fc.string(),
    parse_failed: fc.boolean(),
    ...usage,
  }),
  'mission.defined': fc.record({
    ...mission,
    description: fc.string(),
    rubric: fc.string(),
    max_iterations: fc.integer({ min: 1, max: 20 }),
    kind: fc.constantFrom('mission', 'research'),
  }),
  'mission.evaluation.start': fc.record({
    ...mission,
    iteration: count,
    trigger: fc.constantFrom('round_end', 'budget'),
    response_event_id: fc.integer({ min: 1, max: 40 }),
  }),
  'mission.evaluation.end': fc.record({
    ...mission,
    iteration: count,
    trigger: fc.constantFrom('round_end', 'budget'),
    evaluation_start_id: fc.integer({ min: 1, max: 40 }),
    result: fc.constantFrom(...EVALUATION_RESULTS),
    explanation: fc.string(),
    feedback: fc.string(),
    parse_failed: fc.boolean(),
    ...usage,
  }),
  'mission.continuation': fc.record({ ...mission, iteration: count, status_event_id: count }),
  'mission.paused': fc.record({ ...mission, reason: fc.constant(null) }),
  'mission.resumed': fc.record(mission),
  'mission.cancelled': fc.record({
    ...mission,
    reason: fc.constant(null),
    cascade_to_workers: fc.boolean(),
  }),
  'outcome.continuation': fc.record({ ...outcome, iteration: count, status_event_id: fc.constant(null) }),
  'advisor.request': fc.record({
    model: fc.constant('m'),
    category: fc.constantFrom('progress', 'review'),
    ...turn,
  }),
  'advisor.result': fc.record({
    model: fc.constant('m'),
    category: fc.constant('review'),
    content: fc.constantFrom('', 'mind the gap'),
    truncated: fc.boolean(),
    ...usage,
  }),
  'advisor.failure': fc.record({
    model: fc.constant('m'),
    category: fc.constant('review'),
    error: fc.string(),
  }),
  'inbox.task_complete': fc.record(
    {
      outcome: fc.constant('success'),
      summary: fc.constant('s'),
      duration_seconds: fc.constant(1),
      session_title: fc.constant(null),
      review_wake_id: fc.integer({ min: 1, max: 40 }),
      ...usage,
    },
    { requiredKeys: ['outcome', 'summary', 'duration_seconds', 'session_title'] },
  ),
  'inbox.progress_checkin': fc.constant({
    progress_summary: 'p',
    iterations: 2,
    last_tool: null,
    elapsed_seconds: 3,
  }),
  'inbox.action_required': fc.constant({
    title: 't',
    instructions: 'i',
    context: '',
    action_type: 'login',
    target: null,
    reason: 'r',
  }),
  'saga.start': fc.record({ saga_id: id, session_id: fc.constant('s'), timestamp: count }),
  'saga.step_begin': fc.record({ ...step, state: fc.constantFrom('executing', 'compensating') }),
  'saga.step_committed': fc.record({ ...step, state: fc.constantFrom('committed', 'compensated') }),
  'saga.step_failed': fc.record({
    ...step,
    state: fc.constantFrom('failed', 'compensation_failed', 'unheard of'),
  }),
  'saga.compensate': fc.record(
    {
      saga_id: id,
      steps_rolled_back: fc.array(id),
      reason: fc.constant('paused'),
      timestamp: count,
      told: fc.string(),
    },
    { requiredKeys: ['saga_id', 'steps_rolled_back', 'reason', 'timestamp'] },
  ),
  'saga.complete': fc.record({
    saga_id: id,
    status: fc.constantFrom('committed', 'compensated', 'escalated'),
    steps_executed: count,
    timestamp: count,
  }),
  'expert.delegation': fc.record({
    expert: id,
    task: fc.string(),
    tools: fc.constant([]),
    max_iterations: count,
    tool_call_id: id,
  }),
  'expert.result': fc.record({
    expert: id,
    success: fc.constant(true),
    iterations_used: count,
    content: fc.string(),
    tool_call_id: id,
    ...usage,
  }),
  'expert.failure': fc.record({
    expert: id,
    success: fc.constant(false),
    iterations_used: count,
    error: fc.string(),
    tool_call_id: id,
  }),
  'expert.endorse': fc.record({
    expert: id,
    target_event_id: fc.integer({ min: 1, max: 40 }),
    rating: fc.constant('up'),
    source: fc.constantFrom('user', 'judge'),
  }),
  'artifact.created': fc.constant({ artifact_id: 'a', name: 'n', kind: 'markdown', version: 1, size: 1 }),
}

/** Arbitrary sequences of valid payloads, also in orders that no runner writes. */
export const anyLog = (maxLength: number): fc.Arbitrary<SessionEvent[]> =>
  fc
    .array(
      fc.oneof(
        ...Object.entries(PAYLOADS).map(([type, data]) =>
          fc.record({ type: fc.constant(type), data: data! }),
        ),
      ),
      { maxLength },
    )
    .map(list =>
      list.map(
        (entry, index) =>
          ({
            id: index + 1,
            session_id: 's',
            created_at: '2026-01-01T00:00:00.000Z',
            ...entry,
          }) as unknown as SessionEvent,
      ),
    )
