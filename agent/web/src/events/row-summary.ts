/**
 * The one line each event gets in the EVENTS tab: a table over every type, so a new type does not compile
 * until it has a line. Payloads that do not fit their contract any more (an old log) fall back to their JSON.
 */
import { EVENTS, type EventType, type ReadData, type SessionEvent, isEventType } from '@cairn/protocol'
import { formatCost, formatDuration, formatSize, formatTokens, oneLine, plural } from '../format.ts'

type Priced = { cost_usd?: number | undefined; cost_unpriced_model?: string | undefined }
type Usage = Priced & { input_tokens?: number | undefined; output_tokens?: number | undefined }

const join = (...parts: (string | null | undefined | false)[]) => parts.filter(Boolean).join(' · ')
const quote = (text: string, max = 120) => `“${oneLine(text, max)}”`
const price = (d: Priced) =>
  d.cost_usd === undefined ? d.cost_unpriced_model && 'unpriced' : formatCost(d.cost_usd)
const usage = (d: Usage) =>
  join(
    d.input_tokens !== undefined && `${formatTokens(d.input_tokens)} in`,
    d.output_tokens !== undefined && `${formatTokens(d.output_tokens)} out`,
    price(d),
  )
const compact = (value: unknown) => oneLine(JSON.stringify(value) ?? '')
const short = (id: string) => (id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id)
const secondsText = (s: number) => formatDuration(s * 1000)
const reserved = (d: Record<string, unknown>) =>
  `reserved ${Object.keys(d).length === 0 ? '' : compact(d)}`.trim()

const rating = (d: ReadData<'user.feedback'>) =>
  join(
    `${d.rating === 'up' ? '▲' : '▼'} event ${d.target_event_id}`,
    `by ${d.source}`,
    d.score !== undefined && `score ${d.score}`,
    d.reason,
  )
const sagaStep = (d: ReadData<'saga.step_begin'>) =>
  join(
    `${d.tool_name} ${d.state}`,
    `step ${short(d.step_id)}`,
    d.compensation_tool && `undo: ${d.compensation_tool}`,
    d.error && quote(d.error),
  )
const goal = (d: ReadData<'outcome.defined'>) =>
  join(quote(d.description), `at most ${plural(d.max_iterations, 'iteration')}`)

/** `{"error": …}` in a tool's result is a failure; everything else is what the tool said. */
export function toolError(content: string): string | null {
  if (!content.startsWith('{')) return null
  const error = /^\{\s*"error"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(content)?.[1]
  return error === undefined ? null : error.replace(/\\n/g, ' ').replace(/\\(.)/g, '$1')
}

export const SUMMARIES: { [T in EventType]: (data: ReadData<T>) => string } = {
  'user.message': d =>
    join(
      d.synthetic && `[${d.synthetic}]`,
      d.source && `${d.source.platform}:${d.source.user_name ?? d.source.user_id}`,
      quote(d.content),
      d.attachments && plural(d.attachments.length, 'file'),
      d.images && plural(d.images.length, 'image'),
    ),
  'llm.request': d =>
    join(
      d.model,
      `iteration ${d.iteration_index}`,
      d.attempt !== undefined && d.attempt > 0 && `attempt ${d.attempt + 1}`,
      d.tools_disabled && 'no tools',
    ),
  'llm.delta': d =>
    d.reset
      ? 'reset: the call is retried'
      : join(
          d.content !== undefined && quote(d.content),
          d.reasoning !== undefined && `thinks ${quote(d.reasoning)}`,
        ),
  'llm.heartbeat': d => `silent for ${secondsText(d.silent_for_seconds)}`,
  'llm.thinking': d => quote(d.reasoning, 160),
  'llm.response': d =>
    join(
      d.message.content !== '' && quote(d.message.content, 90),
      d.message.tool_calls && `calls ${d.message.tool_calls.map(c => c.function.name).join(', ')}`,
      usage(d),
      d.cache_read_tokens > 0 && `${formatTokens(d.cache_read_tokens)} cached`,
      d.finish_reason,
    ),
  'ask_user_question.response': d =>
    d.responses.map(r => `${oneLine(r.question, 60)} → ${oneLine(r.answer, 60)}`).join('; '),
  'iteration.summary': d =>
    join(oneLine(d.summary), d.tool_call_ids.length > 0 && plural(d.tool_call_ids.length, 'tool call')),
  'turn.summary': d =>
    join(oneLine(d.recap), d.artifacts.length > 0 && plural(d.artifacts.length, 'artifact'), usage(d)),
  'advisor.request': d => join(d.model, d.category),
  'advisor.result': d => join(d.category, quote(d.content, 100), d.truncated && 'truncated', usage(d)),
  'advisor.failure': d => join(d.category, quote(d.error)),

  'tool.call': d =>
    `${d.name}(${oneLine(
      Object.entries(d.arguments)
        .map(([k, v]) => `${k}: ${typeof v === 'string' ? JSON.stringify(v) : compact(v)}`)
        .join(', '),
      150,
    )})`,
  'tool.result': d =>
    join(
      `${d.name} ${d.elapsed_ms === 0 ? 'refused' : formatDuration(d.elapsed_ms)}`,
      d.truncated && 'truncated',
      toolError(d.content) === null
        ? oneLine(d.content, 120)
        : `✕ ${oneLine(toolError(d.content) ?? '', 120)}`,
    ),

  'skill.invoked': d => join(`/${d.skill}`, quote(d.raw_message), d.staged_at && `staged at ${d.staged_at}`),
  'todo.updated': d => {
    const current = d.todos.find(t => t.status === 'in_progress')
    return join(
      `${d.todos.filter(t => t.status === 'completed').length}/${d.todos.length} done`,
      current && `now: ${oneLine(current.content, 90)}`,
    )
  },

  'worker.spawned': d => join(`child ${short(d.worker_id)}`, quote(d.goal)),
  'worker.complete': d => join(`child ${short(d.worker_id)}`, quote(d.result)),
  'worker.failed': d => join(`child ${short(d.worker_id)}`, quote(d.error)),
  'delegation.start': d => join(`${d.role} ${short(d.child_session_id)}`, quote(d.goal), d.model),
  'delegation.complete': d =>
    join(
      short(d.child_session_id),
      secondsText(d.duration_seconds),
      plural(d.tool_call_count, 'tool call'),
      d.files_written.length > 0 && `wrote ${plural(d.files_written.length, 'file')}`,
    ),
  'delegation.failed': d => join(short(d.child_session_id), quote(d.reason), secondsText(d.duration_seconds)),
  'delegation.stale': d =>
    join(short(d.child_session_id), `idle ${secondsText(d.idle_seconds)}`, d.in_tool && 'in a tool'),
  'task.blocked': d => join(short(d.task_id), quote(d.reason)),
  'task.failed': d =>
    join(short(d.task_id), `after ${plural(d.attempt_count, 'attempt')}`, d.error && quote(d.error)),
  'board.note': d => d.notes.map(n => `${n.type} ${oneLine(n.content, 80)}`).join('; '),
  'board.update': d => join(`${d.kind} to ${d.cursor_to}`, oneLine(d.content, 120)),

  'mission.defined': d => join(quote(d.description), `at most ${plural(d.max_iterations, 'iteration')}`),
  'mission.evaluation.start': d => join(`iteration ${d.iteration}`, d.trigger),
  'mission.evaluation.end': d =>
    join(`iteration ${d.iteration}`, d.result, oneLine(d.explanation, 120), d.parse_failed && 'unparseable'),
  'mission.continuation': d => `iteration ${d.iteration}`,
  'mission.paused': d => d.reason ?? 'by an operator',
  'mission.resumed': d => `mission ${short(d.mission_id)}`,
  'mission.cancelled': d => d.reason ?? 'by an operator',
  'research.defined': d => `run ${short(d.run_id)}`,
  'research.harvested': d => join(`run ${short(d.run_id)}`, compact(d.folded)),
  'research.converged': d =>
    join(
      `run ${short(d.run_id)}`,
      `level ${String(d.level)}`,
      `${d.consecutive_non_improving} without improvement`,
    ),

  'policy.denied': d => join(d.tool, oneLine(d.reason)),
  'policy.allowed': d =>
    'tool' in d ? join(String(d.tool), String(d['check'])) : join(d.tool_name, d.reason),
  'disclosure.presented': d => join(d.level, d.channel),
  'disclosure.confirmed': d => join(d.level, 'accepted in the web UI'),

  'saga.start': d => `saga ${short(d.saga_id)}`,
  'saga.step_begin': sagaStep,
  'saga.step_committed': sagaStep,
  'saga.step_failed': sagaStep,
  'saga.compensate': d =>
    join(
      `rolled back ${plural(d.steps_rolled_back.length, 'step')}`,
      d.reason,
      d.failed_steps &&
        d.failed_steps.length > 0 &&
        `${plural(d.failed_steps.length, 'step')} could not be undone: an operator must look`,
    ),
  'saga.complete': d => join(d.status, plural(d.steps_executed, 'step')),

  'expert.delegation': d => join(d.expert, quote(d.task), `at most ${plural(d.max_iterations, 'iteration')}`),
  'expert.result': d => join(d.expert, quote(d.content), plural(d.iterations_used, 'iteration'), usage(d)),
  'expert.failure': d => join(d.expert, quote(d.error), plural(d.iterations_used, 'iteration'), usage(d)),
  'expert.endorse': d => join(d.expert, rating(d)),
  'expert.override': d => join(d.expert, rating(d)),
  'user.feedback': rating,

  'user.define_outcome': goal,
  'outcome.defined': goal,
  'span.outcome_evaluation_start': d => join(`iteration ${d.iteration}`, `of event ${d.response_event_id}`),
  'span.outcome_evaluation_ongoing': d => `iteration ${d.iteration}`,
  'span.outcome_evaluation_end': d =>
    join(
      `iteration ${d.iteration}`,
      d.result.replaceAll('_', ' '),
      oneLine(d.explanation, 120),
      d.parse_failed && 'unparseable',
      usage(d),
    ),
  'outcome.continuation': d => `iteration ${d.iteration}`,
  'outcome.paused': d => d.reason,
  'outcome.cleared': d => (d.outcome_id === null ? 'nothing was active' : `goal ${short(d.outcome_id)}`),

  'inbox.input_required': d => d.questions.map(q => quote(q.prompt)).join('; '),
  'inbox.action_required': d => join(d.title, d.action_type, d.target, oneLine(d.instructions, 100)),
  'inbox.task_complete': d => join(d.outcome, oneLine(d.summary), secondsText(d.duration_seconds)),
  'inbox.governance_gate': d =>
    join(`${d.tool_name} awaits a decision`, oneLine(d.arguments_excerpt, 80), d.deny_reason, d.policy_id),
  'inbox.progress_checkin': d =>
    join(oneLine(d.progress_summary), plural(d.iterations, 'iteration'), secondsText(d.elapsed_seconds)),

  'browser.provisioned': d => `browser ${short(d.browser_id)}`,
  'browser.destroyed': d =>
    d.browser_id === null ? 'no browser was left' : `browser ${short(d.browser_id)}`,
  'browser.control_granted': d => `to ${short(d.owner_user_id)}`,
  'browser.control_returned': d => `by ${d.released_by}`,
  'code.run_started': d => join(d.agent, d.provider, quote(d.prompt)),
  'code.run_progress': d => oneLine(d.chunk),
  'code.run_channel_update': d => oneLine(d.text),
  'code.run_result': d =>
    join(
      d.error === null ? oneLine(d.final_message ?? 'no message', 120) : `✕ ${oneLine(d.error, 120)}`,
      usage(d),
    ),

  'harness.wake': d =>
    'cursor' in d
      ? `worker ${short(d.worker_id)} from ${String(d.cursor)}`
      : join(`worker ${short(d.worker_id)}`, 'background review'),
  'session.pause': d => d.reason ?? '',
  'session.resume': d => (d.source === undefined ? '' : `by ${d.source}`),
  'session.complete': d => d.reason.replaceAll('_', ' '),
  'session.fail': d =>
    join(d.reason, d.error_category, quote(d.error), d.retryable ? 'can be retried' : 'final'),
  'session.stopped': d => d.reason,
  'session.model_escalated': d => join(`to ${d.model}`, d.reason),
  'session.title_updated': d => quote(d.title),
  'harness.crash': d =>
    join(
      d.error_category,
      quote(d.error),
      `worker ${short(d.worker_id)}`,
      d.retryable ? 'will be retried' : 'final',
    ),
  'harness.recovered': d =>
    join(`by ${d.recovered_by}`, `after ${secondsText(d.stale_seconds)} without a sign of life`),
  'context.compact': d =>
    join(
      d.strategy,
      `${d.original_message_count} → ${d.compressed_message_count} messages`,
      `through event ${d.through_event_id}`,
      usage(d),
    ),
  'artifact.created': d => join(d.name, d.kind, d.version > 1 && `version ${d.version}`, formatSize(d.size)),
  'loop.result': d => join(d.outcome, quote(d.content), secondsText(d.duration_seconds)),

  'session.start': reserved,
  'session.reset': reserved,
  'memory.update': reserved,
  'artifact.updated': reserved,
  'ambient.tick': reserved,
  'ambient.post': reserved,
  'sandbox.provision': reserved,
  'sandbox.execute': reserved,
  'sandbox.result': reserved,
  'sandbox.destroy': reserved,
  'research.dispatched': reserved,
  'research.merged': reserved,
  'research.pruned': reserved,
  'research.report': reserved,
}

/** The line of an event; whatever its payload looks like, there is one. */
export function summarize(event: SessionEvent): string {
  if (!isEventType(event.type) || !EVENTS[event.type].read.safeParse(event.data).success)
    return compact(event.data)
  return (SUMMARIES[event.type] as (data: unknown) => string)(event.data)
}
