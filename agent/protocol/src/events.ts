/**
 * The contract of Cairn Agent: the table of all event types that a session log may hold.
 *
 * Types, validators, docs/events.md and the OpenAPI components derive from this table; a pin test keeps its
 * names and documented keys. Each row states the producer (exactly one, or `none`), when it writes the event,
 * the documented keys (`keys`, a stable promise), our additional keys (`extra`, which may grow at any time),
 * the facts that folds and projections derive from (`EventFacts`), what the model reads of the event, and its
 * summary for people. Source: docs/contract.md, 14.
 *
 * Validation is strict for writers and loose for readers: new keys may appear at any time.
 */
import { z } from 'zod'
import { SessionBudget } from './config.ts'
import { MISSION_KINDS, MISSION_TRIGGERS } from './mission-words.ts'
import { clip } from './text.ts'
import { RESEARCH_LEVELS, RESEARCH_MODES, ResearchSettings } from './research.ts'
import {
  compact,
  formatSize,
  formatTokens,
  goalText,
  join,
  oneLine,
  plural,
  quote,
  ratingText,
  sagaStepText,
  secondsText,
  short,
  toolResultText,
  usageText,
} from './event-text.ts'

export const PRODUCERS = [
  'messages',
  'goals',
  'lifecycle',
  'inbox',
  'feedback',
  'disclosure',
  'missions',
  'wake',
  'sweeper',
  'turn',
  'advisor',
  'tools',
  'skills',
  'governance',
  'experts',
  'saga',
  'evaluator',
  'coordination',
  'rounds',
  'research',
  'browser',
  'code',
  'titles',
  'none',
] as const
export type Producer = (typeof PRODUCERS)[number]

/** Producers that are declared but not implemented: no code writes their types. A gate checks the sources. */
export const NOT_BUILT: readonly Producer[] = []

/** Families group event types: colours and filters of the EVENTS tab, sections of docs/events.md. */
export const FAMILIES = [
  'conversation',
  'tools',
  'plan',
  'coordination',
  'missions',
  'governance',
  'saga',
  'experts',
  'goals',
  'inbox',
  'browser',
  'code',
  'lifecycle',
  'reserved',
] as const
export type Family = (typeof FAMILIES)[number]

/** Facts that hold for every event of a type, regardless of its payload. All default to false or absent. */
export type EventFacts = {
  /** Messaging channels may show this event to their users. */
  channel?: true
  /**
   * `input_tokens`, `output_tokens` and `cost_usd` count model calls that no other event counts.
   * (turn.summary repeats those of its responses, so it does not have this fact.)
   */
  usage?: true
  /** Requests work: an idle session is claimed for it, a running turn folds it in (contract 7.3). */
  wakes?: true
  /** Asks a person: the turn waits for the answer, or continues without it (contract 7.8). */
  asks?: 'waits' | 'goes_on'
  /** Only the runner of a turn writes it, never outside a wake. */
  worker?: true
  /** The status that the session gets. */
  status?: 'active' | 'paused' | 'completed' | 'failed'
  /** A saga starts or ends, or a running one must be rolled back. */
  saga?: 'begins' | 'ends' | 'rolls_back'
  /** Starts a turn if the previous one has ended. */
  starts_turn?: true
  /** May follow the end of the work without extending the turn. */
  aftermath?: true
  /**
   * The model reads it in the next turn, whenever that runs. It does not cause a turn unless `wakes` is set.
   */
  read_later?: true
  /** A crash, a recovery or a failure, marked in the EVENTS tab. */
  alarm?: true
  /**
   * Contains call arguments, which people approve and audit: redaction removes the secret itself and no more.
   */
  arguments?: true
  /** The parent's report on a worker is derived from it. */
  reported?: true
  /** The producer exists but does not write this type yet. */
  planned?: true
  /** Something went wrong. `exclude` keeps the session out of training data unless it is requested. */
  trouble?: 'exclude' | 'note'
}

/** What the model reads of an event: a title and a text. */
export type Note = readonly [title: string, text: string]

type Shape = z.ZodRawShape
type Read<S extends Shape> = z.output<z.ZodObject<S, z.core.$loose>>
type Options<S extends Shape, X extends Shape> = EventFacts & {
  /** Keys beyond the documented ones; readers must not rely on them. */
  extra?: X
  /**
   * The message that the model reads for this event. Types that are part of the dialogue itself (messages,
   * answers, tool results) have none: the conversation fold places them.
   */
  says?: (data: Read<NoInfer<S & X>>) => Note | null
  /** The one-line summary of the EVENTS tab and of `cairn tail`. */
  summary: (data: Read<NoInfer<S & X>>) => string
}

function def<const P extends Producer, S extends Shape, X extends Shape = {}>(
  producer: P,
  family: Family,
  when: string,
  keys: S,
  options: Options<S, X>,
) {
  const { extra = {} as X, says, summary, ...facts } = options
  const shape = { ...keys, ...extra } as S & X
  return {
    producer,
    family,
    when,
    keys: Object.keys(keys),
    extra: Object.keys(extra),
    facts: facts as EventFacts,
    says: says ?? null,
    summary,
    write: z.strictObject(shape),
    read: z.looseObject(shape),
  }
}

/** An event type with two documented shapes. `keys` lists the keys of both; `extra` belongs to the second. */
function either<const P extends Producer, A extends Shape, B extends Shape, X extends Shape = {}>(
  producer: P,
  family: Family,
  when: string,
  a: A,
  b: B,
  options: EventFacts & { extra?: X; summary: (data: Read<A> | Read<B & X>) => string },
) {
  const { summary, extra: given, ...facts } = options
  const extra = (given ?? {}) as X
  const second = { ...b, ...extra } as B & X
  return {
    producer,
    family,
    when,
    keys: [...new Set([...Object.keys(a), ...Object.keys(b)])],
    extra: Object.keys(extra),
    facts: facts as EventFacts,
    says: null,
    summary,
    write: z.union([z.strictObject(a), z.strictObject(second)]),
    read: z.union([z.looseObject(a), z.looseObject(second)]),
  }
}

/** Declared so that old clients can parse it. Nothing writes it, and a writer does not compile. */
const reserved = (of: string) =>
  def(
    'none',
    'reserved',
    `Reserved (${of}); nothing writes it.`,
    {},
    {
      summary: d => `reserved ${Object.keys(d).length === 0 ? '' : compact(d)}`.trim(),
    },
  )

// ---- value shapes shared by several types
// ---------------------------------------------------------------------------

const id = z.string().min(1)
const eventId = z.int().positive()
const count = z.int().nonnegative()
const seconds = z.number().nonnegative()
const unixTime = z.number().describe('Unix time in seconds, with fraction')
const json = z.record(z.string(), z.unknown())

export const Rubric = z.strictObject({ type: z.literal('text'), content: z.string().min(1) })
export const ToolCallRef = z.strictObject({
  id,
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    arguments: z.string().describe('JSON text, as the model wrote it'),
  }),
})
export const AssistantMessage = z.strictObject({
  role: z.literal('assistant'),
  content: z.string().describe('the user-visible answer; there is no separate final-answer event'),
  tool_calls: z.array(ToolCallRef).optional(),
  reasoning_details: z
    .array(json)
    .optional()
    .describe("the provider's own reasoning blocks, sent back verbatim on the next call"),
})
export const ChannelSource = z.strictObject({
  platform: z.string(),
  chat_id: z.string(),
  chat_type: z.string(),
  user_id: z.string(),
  user_name: z.string().nullable(),
  thread_id: z.string().nullable(),
  ts: z.string(),
})
export const Attachment = z.strictObject({
  path: z.string(),
  filename: z.string(),
  mime_type: z.string().optional(),
  size: count.optional(),
})
export const Image = z.strictObject({
  data: z.string().describe('base64'),
  mime_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
})
export const SkillOverride = z
  .strictObject({
    source: id,
    skillopt_run_id: id,
    candidate_id: id,
    body: z.string().min(1),
  })
  .describe(
    '`metadata.skill_override` of a `/<skill>` message: a candidate text that replaces the body of the skill',
  )
export const ExpertTrace = z
  .array(z.strictObject({ name: z.string(), ok: z.boolean(), error: z.string().optional() }))
  .describe('tool calls of the expert, in order')
export const Todo = z.strictObject({
  id,
  content: z.string(),
  status: z.enum(['pending', 'in_progress', 'completed', 'cancelled']),
})
export const QuestionChoice = z.strictObject({ label: z.string(), description: z.string().optional() })
export const Question = z.strictObject({
  prompt: z.string(),
  choices: z.array(QuestionChoice).optional(),
  allow_other: z.boolean().optional(),
})
export const Answer = z.strictObject({
  question: z.string(),
  answer: z.string(),
  is_other: z.boolean().optional(),
})
export type Rubric = z.output<typeof Rubric>
export type ToolCallRef = z.output<typeof ToolCallRef>
export type AssistantMessage = z.output<typeof AssistantMessage>
export type ChannelSource = z.output<typeof ChannelSource>
export type Attachment = z.output<typeof Attachment>
export type Image = z.output<typeof Image>
export type SkillOverride = z.output<typeof SkillOverride>
export type Todo = z.output<typeof Todo>
export type QuestionChoice = z.output<typeof QuestionChoice>
export type Question = z.output<typeof Question>
export type Answer = z.output<typeof Answer>
export const ERROR_CATEGORIES = [
  'provider_error',
  'rate_limit',
  'auth_failed',
  'context_overflow',
  'network',
  'timeout',
  'invalid_response',
  'empty_response',
  'tool_error',
  'storage_error',
  'crash_loop',
  'recovery_loop',
  'configuration',
  'internal',
] as const
const failure = { error_category: z.enum(ERROR_CATEGORIES), error: z.string(), retryable: z.boolean() }
export const EVALUATION_RESULTS = [
  'satisfied',
  'needs_revision',
  'blocked',
  'failed',
  'max_iterations_reached',
  'paused',
] as const
/** How a scheduled run ended. */
export const RUN_OUTCOMES = [
  'success',
  'failed',
  'empty',
  'budget_exhausted',
  'tool_loop',
  'timeout',
  'cancelled',
] as const
export type RunOutcome = (typeof RUN_OUTCOMES)[number]
export const ARTIFACT_KINDS = ['markdown', 'table', 'chart', 'html', 'svg', 'image'] as const

/**
 * How a session got a child: a call that continues at once, a call that waits, an attempt at a task, or a
 * branch of its research.
 */
export const WORKER_KINDS = ['worker', 'delegation', 'task', 'branch'] as const
export type WorkerKind = (typeof WORKER_KINDS)[number]
/** Why a child ended without a result. `parent`: its parent was stopped, ended or archived. */
export const WORKER_CAUSES = [
  'empty',
  'budget',
  'tool_loop',
  'error',
  'cancelled',
  'timeout',
  'deadline',
  'parent',
  'archived',
] as const
/** Keys of both child outcomes: the usage of the child and its subtree, and what it left. */
const outcome = {
  duration_seconds: seconds,
  iterations: count,
  input_tokens: count,
  output_tokens: count,
  cost_usd: z.number().nonnegative(),
  files_written: z.array(z.string()),
  artifacts: z
    .array(z.strictObject({ artifact_id: id, name: z.string(), kind: z.enum(ARTIFACT_KINDS) }))
    .optional()
    .describe('fetch them from the child session'),
  tool_call_id: id.optional().describe('the call that created the child'),
  branch_key: id
    .optional()
    .describe('key of a research branch; its findings are reported when it is harvested'),
}

/** Position of an event in its turn: one turn_id per user turn, iterations counted from 0 within it. */
const turn = { turn_id: id, iteration_index: count }
const turnOptional = { turn_id: id.optional(), iteration_index: count.optional() }

const rating = {
  target_event_id: eventId,
  rating: z.enum(['up', 'down']),
  source: z.enum(['user', 'judge']),
  rated_by_user_id: id.optional(),
  rated_by_service_account_id: id.optional(),
  reason: z.string().optional(),
  rationale: z.string().optional(),
  score: z.number().optional(),
  criteria: z.record(z.string(), z.number()).optional(),
}
const takenBack = { withdrawn: z.literal(true).optional().describe('the principal withdraws its rating') }
/** The decider of an item: one of the two keys, or neither if it was not recorded. */
export const DECIDED_BY = {
  decided_by_user_id: id.optional(),
  decided_by_service_account_id: id.optional(),
}
const sagaStep = {
  saga_id: id,
  step_id: id,
  tool_name: z.string(),
  state: z.string(),
  timestamp: unixTime,
  tool_call_id: id.optional(),
  arguments: json.optional(),
  compensation_tool: z.string().optional(),
  compensation_args: json.optional(),
  checkpoint_hash: z.string().optional(),
  result: z.unknown().optional(),
  error: z.string().optional(),
}
const goal = {
  outcome_id: id,
  description: z.string(),
  rubric: Rubric,
  max_iterations: z.int().min(1).max(20),
}
/** Both count evaluations. A start is written before its own evaluation has ended. */
const evaluationsBefore = count.describe('evaluations that ended before this one: 0 for the first')
const evaluationsSoFar = count.describe('evaluations that have ended, including this one: 1 for the first')
const operator = { principal_user_id: id.optional(), principal_service_account_id: id.optional() }
const advice = {
  model: z.string(),
  category: z.string(),
  turn_id: id.optional(),
  iteration_index: count.optional().describe('iteration of the answer that was reviewed'),
}
export const SkillProposal = z.strictObject({
  name: z.string(),
  description: z.string(),
  body: z.string().min(1),
})
export type SkillProposal = z.output<typeof SkillProposal>
const ofTask = (taskId: string | undefined): string => (taskId === undefined ? '' : ` task ${taskId}`)
const alsoCancelled = (tasks: readonly string[] = []): string[] =>
  tasks.length === 0 ? [] : [`Cancelled with it: ${tasks.join(', ')}`]
const codeRun = { run_id: id, agent: z.string() }
/** Limit of what the model reads of a code run that it did not start itself. */
const CODE_NOTE_CHARS = 4000

export const EVENTS = {
  // ---- conversation
  // -------------------------------------------------------------------------------------------------
  'user.message': def(
    'messages',
    'conversation',
    'Input was added to the session by a user, a channel, or (with `synthetic`) by the server.',
    {
      source: ChannelSource.optional(),
      principal_user_id: id.optional(),
      principal_service_account_id: id.optional(),
      synthetic: z
        .string()
        .optional()
        .describe('kind of a server-generated message, for example "outcome_continuation"'),
    },
    {
      channel: true,
      extra: {
        content: z.string(),
        attachments: z.array(Attachment).optional(),
        images: z.array(Image).optional(),
        metadata: json.optional(),
        outcome_id: id.optional(),
        mission_id: id.optional(),
        inbox_item_id: id.optional(),
        tool_call_id: id.optional(),
        task_id: id.optional(),
        run_id: id
          .optional()
          .describe('run of the coding agent that gets the decision; the model does not see it'),
        request_key: id.optional().describe('hash of the Idempotency-Key of the message'),
        forked_from: z.object({ session_id: id, event_id: count }).optional(),
        history: z
          .array(json)
          .optional()
          .describe(
            'for a fork: the conversation that it starts with; the model reads it instead of this message',
          ),
        passes_over: z
          .array(id)
          .optional()
          .describe('tool calls of the pending questions that this message leaves unanswered'),
      },
      wakes: true,
      starts_turn: true,
      aftermath: true,
      summary: d =>
        join(
          d.synthetic && `[${d.synthetic}]`,
          d.source && `${d.source.platform}:${d.source.user_name ?? d.source.user_id}`,
          quote(d.content),
          d.attachments && plural(d.attachments.length, 'file'),
          d.images && plural(d.images.length, 'image'),
        ),
    },
  ),
  'llm.request': def(
    'turn',
    'conversation',
    'One model call started; a turn may have many.',
    {},
    {
      extra: {
        model: z.string(),
        ...turn,
        attempt: count.optional(),
        tools_disabled: z.boolean().optional(),
      },
      worker: true,
      summary: d =>
        join(
          d.model,
          `iteration ${d.iteration_index}`,
          d.attempt !== undefined && d.attempt > 0 && `attempt ${d.attempt + 1}`,
          d.tools_disabled && 'no tools',
        ),
    },
  ),
  'llm.delta': def(
    'turn',
    'conversation',
    'A coalesced chunk of the answer or its reasoning arrived. Best effort: llm.response is authoritative.',
    {},
    {
      channel: true,
      extra: {
        content: z.string().optional(),
        reasoning: z.string().optional(),
        reset: z.boolean().optional().describe('the call is retried: discard the chunks of this iteration'),
        ...turn,
      },
      worker: true,
      summary: d =>
        d.reset
          ? 'reset: the call is retried'
          : join(
              d.content !== undefined && quote(d.content),
              d.reasoning !== undefined && `thinks ${quote(d.reasoning)}`,
            ),
    },
  ),
  'llm.heartbeat': def(
    'turn',
    'conversation',
    'The model has been silent beyond the heartbeat interval, within the stale timeout; the call is alive.',
    {},
    {
      extra: { silent_for_seconds: seconds, ...turn },
      worker: true,
      summary: d => `silent for ${secondsText(d.silent_for_seconds)}`,
    },
  ),
  'llm.thinking': def(
    'turn',
    'conversation',
    'The complete reasoning of one iteration.',
    { reasoning: z.string() },
    { extra: turn, worker: true, summary: d => quote(d.reasoning, 160) },
  ),
  'llm.response': def(
    'turn',
    'conversation',
    'The model answered. `message.content` is the user-visible answer.',
    {
      message: AssistantMessage,
      model: z.string(),
      input_tokens: count,
      output_tokens: count,
      reasoning_tokens: count,
      cache_read_tokens: count,
      finish_reason: z.string(),
      context_window: count,
      cost_usd: z.number().nonnegative().optional().describe('when the serving model has a catalogue rate'),
      cost_unpriced_model: z.string().optional().describe('when it has none'),
    },
    {
      channel: true,
      extra: {
        ...turnOptional,
        latency_ms: count.optional(),
        first_token_ms: count.optional(),
        command_event_id: eventId
          .optional()
          .describe('finish_reason "command": the slash command that the server replies to'),
      },
      usage: true,
      worker: true,
      arguments: true,
      reported: true,
      summary: d =>
        join(
          d.message.content !== '' && quote(d.message.content, 90),
          d.message.tool_calls && `calls ${d.message.tool_calls.map(c => c.function.name).join(', ')}`,
          usageText(d),
          d.cache_read_tokens > 0 && `${formatTokens(d.cache_read_tokens)} cached`,
          d.finish_reason,
        ),
    },
  ),
  'ask_user_question.response': def(
    'messages',
    'conversation',
    'A user answered an ask_user_question prompt.',
    { tool_call_id: id, responses: z.array(Answer) },
    {
      extra: {
        principal_user_id: id.optional(),
        principal_service_account_id: id.optional(),
        request_key: id.optional().describe('hash of the Idempotency-Key of a typed answer'),
      },
      wakes: true,
      summary: d => d.responses.map(r => `${oneLine(r.question, 60)} → ${oneLine(r.answer, 60)}`).join('; '),
    },
  ),
  'iteration.summary': def(
    'turn',
    'conversation',
    'One iteration finished; a one-line imperative recap.',
    {},
    {
      extra: {
        ...turn,
        summary: z.string(),
        tool_call_ids: z.array(id),
        started_at: z.string(),
        ended_at: z.string(),
      },
      worker: true,
      summary: d =>
        join(oneLine(d.summary), d.tool_call_ids.length > 0 && plural(d.tool_call_ids.length, 'tool call')),
    },
  ),
  'turn.summary': def(
    'turn',
    'conversation',
    'The last iteration of a turn finished; recap and the artifacts worth showing.',
    {},
    {
      extra: {
        ...turn,
        recap: z.string(),
        artifacts: z.array(
          z.strictObject({
            kind: z.enum(['file', 'artifact', 'url', 'command']),
            label: z.string(),
            ref: z.string(),
          }),
        ),
        iterations: count.optional(),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
      },
      worker: true,
      summary: d =>
        join(
          oneLine(d.recap),
          d.artifacts.length > 0 && plural(d.artifacts.length, 'artifact'),
          usageText(d),
        ),
    },
  ),
  'advisor.request': def(
    'advisor',
    'conversation',
    'The hidden advisor pass was asked for guidance.',
    {},
    { extra: advice, worker: true, summary: d => join(d.model, d.category) },
  ),
  'advisor.result': def(
    'advisor',
    'conversation',
    'The advisor answered; its usage is counted.',
    {},
    {
      extra: {
        ...advice,
        content: z.string().describe('empty: the advisor had nothing to add, and the model reads nothing'),
        truncated: z.boolean(),
        input_tokens: count,
        output_tokens: count,
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
      },
      usage: true,
      worker: true,
      says: d => (d.content === '' ? null : ['Advice on this task', d.content]),
      summary: d => join(d.category, quote(d.content, 100), d.truncated && 'truncated', usageText(d)),
    },
  ),
  'advisor.failure': def(
    'advisor',
    'conversation',
    'The advisor pass failed; the turn continues without it.',
    {},
    { extra: { ...advice, error: z.string() }, worker: true, summary: d => join(d.category, quote(d.error)) },
  ),

  // ---- tools
  // --------------------------------------------------------------------------------------------------------
  'tool.call': def(
    'tools',
    'tools',
    'A tool is about to run; stored before it starts.',
    {
      tool_call_id: id,
      name: z.string(),
      arguments: json.describe('the absolute workspace path is replaced by __WORKSPACE__'),
      checkpoint_hash: z.string().optional().describe('file-mutating tools: the workspace before the call'),
    },
    {
      extra: {
        ...turnOptional,
        redactions: count
          .optional()
          .describe('number of parts of the arguments that are secrets and are not shown'),
      },
      worker: true,
      arguments: true,
      reported: true,
      summary: d =>
        `${d.name}(${oneLine(
          Object.entries(d.arguments)
            .map(([k, v]) => `${k}: ${typeof v === 'string' ? JSON.stringify(v) : compact(v)}`)
            .join(', '),
          150,
        )})`,
    },
  ),
  'tool.result': def(
    'tools',
    'tools',
    'A tool ended, failed, or was rejected or held for an approval (`elapsed_ms` 0). The content of a ' +
      'failure has an `error` key.',
    {
      tool_call_id: id,
      name: z.string(),
      content: z.string().describe('result body, often JSON text'),
      elapsed_ms: count,
    },
    {
      extra: { ...turnOptional, truncated: z.boolean().optional(), full_result_path: z.string().optional() },
      worker: true,
      reported: true,
      summary: toolResultText,
    },
  ),

  // ---- skills and plan
  // ----------------------------------------------------------------------------------------------
  'skill.invoked': def(
    'skills',
    'plan',
    'A `/<skill>` message was expanded before the model saw it; at most once per user message.',
    {
      skill: z.string(),
      raw_message: z.string(),
      staged_at: z.string().nullable().describe('workspace path of staged supporting files'),
      override_source: z.string().optional(),
      skillopt_run_id: z.string().optional(),
      candidate_id: z.string().optional(),
    },
    {
      extra: {
        user_message_id: eventId,
        expanded: z.string().optional().describe('the text the model sees in place of the message'),
      },
      worker: true,
      summary: d => join(`/${d.skill}`, quote(d.raw_message), d.staged_at && `staged at ${d.staged_at}`),
    },
  ),
  'todo.updated': def(
    'tools',
    'plan',
    'The agent wrote its plan; the whole list each time.',
    {
      todos: z.array(Todo),
    },
    {
      worker: true,
      summary: d => {
        const current = d.todos.find(t => t.status === 'in_progress')
        return join(
          `${d.todos.filter(t => t.status === 'completed').length}/${d.todos.length} done`,
          current && `now: ${oneLine(current.content, 90)}`,
        )
      },
    },
  ),

  // ---- coordination
  // -------------------------------------------------------------------------------------------------
  'worker.spawned': def(
    'coordination',
    'coordination',
    'A child session was created.',
    {},
    {
      extra: {
        worker_id: id,
        goal: z.string().describe('truncated to 500 characters'),
        task_id: id.optional(),
        kind: z.enum(WORKER_KINDS),
        agent: z.string(),
        depth: count.describe('1 for a child of a root'),
        model: z.string().optional(),
        tool_call_id: id.optional().describe('the call that created it'),
        attempt: count.optional().describe('attempt of the task, from 1'),
        mission_id: id.optional().describe('research mission that it is a branch of'),
        branch_key: id
          .optional()
          .describe('key of a research branch: that of its parent branch, a dot and its own part'),
        budget: SessionBudget.optional().describe('reserved for it and its descendants until its outcome'),
        isolation: z
          .enum(['share', 'copy'])
          .optional()
          .describe('whether it works in the workspace of its parent or in a copy'),
      },
      summary: d => join(`child ${short(d.worker_id)}`, quote(d.goal)),
    },
  ),
  'worker.complete': def(
    'coordination',
    'coordination',
    'A child session finished normally.',
    {},
    {
      extra: {
        worker_id: id,
        result: z.string().describe('truncated to 10,000 characters'),
        task_id: id.optional(),
        metadata: json.optional(),
        truncated: z.boolean().optional().describe('the rest is in the log of the child'),
        attempt: count.optional().describe('attempt of the task, from 1'),
        ...outcome,
      },
      wakes: true,
      says: d =>
        d.branch_key === undefined ? [`Worker ${d.worker_id} finished${ofTask(d.task_id)}`, d.result] : null,
      summary: d => join(`child ${short(d.worker_id)}`, quote(d.result), secondsText(d.duration_seconds)),
    },
  ),
  'worker.failed': def(
    'coordination',
    'coordination',
    'A child session errored or exhausted its iteration budget.',
    {},
    {
      extra: {
        worker_id: id,
        error: z.string(),
        task_id: id.optional(),
        cause: z.enum(WORKER_CAUSES),
        partial_result: z.string().optional().describe('its last text'),
        attempt: count.optional().describe('attempt of the task, from 1'),
        will_retry: z
          .boolean()
          .optional()
          .describe('the task has attempts left; its failure is not reported yet'),
        cancelled_tasks: z
          .array(id)
          .optional()
          .describe('tasks that depended on this one, which was cancelled'),
        ...outcome,
      },
      wakes: true,
      says: d =>
        d.cause === 'parent' || d.will_retry === true || d.branch_key !== undefined
          ? null
          : [
              `Worker ${d.worker_id} failed${ofTask(d.task_id)}`,
              [
                d.error,
                ...(d.partial_result === undefined ? [] : [`The last it said:\n${d.partial_result}`]),
                ...alsoCancelled(d.cancelled_tasks),
              ].join('\n'),
            ],
      summary: d => join(`child ${short(d.worker_id)}`, d.cause, quote(d.error)),
    },
  ),
  'delegation.start': def(
    'coordination',
    'coordination',
    'delegate_task began waiting for a child.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        timeout_seconds: seconds,
        goal: z.string(),
        role: z.enum(['leaf', 'orchestrator']),
        depth: count,
        agent_type: z.string().nullable(),
        model: z.string().nullable(),
      },
      summary: d => join(`${d.role} ${short(d.child_session_id)}`, quote(d.goal), d.model),
    },
  ),
  'delegation.complete': def(
    'coordination',
    'coordination',
    'A delegated child finished.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        goal: z.string(),
        duration_seconds: seconds,
        tool_call_count: count,
        trace: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), tool_call_id: id })),
        files_written: z.array(z.string()),
        files_read: z.array(z.string()),
      },
      summary: d =>
        join(
          short(d.child_session_id),
          secondsText(d.duration_seconds),
          plural(d.tool_call_count, 'tool call'),
          d.files_written.length > 0 && `wrote ${plural(d.files_written.length, 'file')}`,
        ),
    },
  ),
  'delegation.failed': def(
    'coordination',
    'coordination',
    'A delegated child failed.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        goal: z.string(),
        reason: z.string(),
        duration_seconds: seconds,
      },
      summary: d => join(short(d.child_session_id), quote(d.reason), secondsText(d.duration_seconds)),
    },
  ),
  'delegation.stale': def(
    'coordination',
    'coordination',
    'A delegated child has been idle too long; at most once per idle period.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        idle_seconds: seconds,
        in_tool: z.boolean(),
        threshold_seconds: seconds,
      },
      summary: d =>
        join(short(d.child_session_id), `idle ${secondsText(d.idle_seconds)}`, d.in_tool && 'in a tool'),
    },
  ),
  'task.blocked': def(
    'coordination',
    'coordination',
    'A task paused itself.',
    {},
    {
      extra: {
        task_id: id,
        worker_id: id,
        reason: z.string().describe('truncated to 500 characters'),
        block_call_id: id.describe('the call of the worker that waits for the answer'),
      },
      wakes: true,
      says: d => [
        `Task ${d.task_id} is blocked`,
        `${d.reason}\nAnswer it with unblock_task, or give it up with cancel_task.`,
      ],
      summary: d => join(short(d.task_id), quote(d.reason)),
    },
  ),
  'task.failed': def(
    'coordination',
    'coordination',
    'A task exhausted its retry budget.',
    {},
    {
      extra: {
        task_id: id,
        attempt_count: count,
        error: z.string(),
        cancelled_tasks: z.array(id).describe('tasks that depended on it'),
      },
      wakes: true,
      says: d => [
        `Task ${d.task_id} failed after ${plural(d.attempt_count, 'attempt')}`,
        [d.error, ...alsoCancelled(d.cancelled_tasks)].join('\n'),
      ],
      summary: d => join(short(d.task_id), `after ${plural(d.attempt_count, 'attempt')}`, quote(d.error)),
    },
  ),
  'board.note': def(
    'coordination',
    'coordination',
    'A note passed admission on the session of its writer.',
    {},
    {
      extra: {
        group_id: id,
        notes: z.array(
          z.strictObject({
            id,
            type: z.enum(['FACT', 'FAIL', 'CLAIM', 'RESULT']),
            content: z.string(),
            ref: z.string().optional().describe('a workspace file, an artifact or a URL'),
            ttl_seconds: seconds.optional().describe('time for which a CLAIM is valid'),
          }),
        ),
      },
      summary: d => d.notes.map(n => `${n.type} ${oneLine(n.content, 80)}`).join('; '),
    },
  ),
  'board.update': def(
    'coordination',
    'coordination',
    'A board snapshot or delta entered the conversation of a reader.',
    {},
    {
      extra: {
        group_id: id,
        kind: z.enum(['snapshot', 'delta']),
        cursor_from: count.nullable(),
        cursor_to: count,
        content: z.string(),
      },
      says: d => ['Shared board', d.content],
      summary: d => join(`${d.kind} to ${d.cursor_to}`, oneLine(d.content, 120)),
    },
  ),

  // ---- missions and research
  // ----------------------------------------------------------------------------------------
  'mission.defined': def(
    'missions',
    'missions',
    'A mission was created.',
    {},
    {
      extra: {
        mission_id: id,
        description: z.string(),
        rubric: z.string(),
        max_iterations: count,
        kind: z.enum(MISSION_KINDS),
        budget: SessionBudget.optional().describe('for the whole session tree, from this event on'),
      },
      aftermath: true,
      summary: d => join(quote(d.description), `at most ${plural(d.max_iterations, 'iteration')}`),
    },
  ),
  'mission.evaluation.start': def(
    'rounds',
    'missions',
    'An evaluation pass of the mission began.',
    {},
    {
      extra: {
        mission_id: id,
        iteration: evaluationsBefore,
        trigger: z.enum(MISSION_TRIGGERS),
        response_event_id: eventId.describe('the graded answer; if there is none, the mission.defined event'),
      },
      worker: true,
      summary: d => join(`iteration ${d.iteration}`, d.trigger),
    },
  ),
  'mission.evaluation.end': def(
    'rounds',
    'missions',
    'An evaluation pass of the mission ended.',
    {},
    {
      extra: {
        mission_id: id,
        iteration: evaluationsSoFar,
        trigger: z.enum(MISSION_TRIGGERS),
        result: z.enum(EVALUATION_RESULTS),
        explanation: z.string(),
        feedback: z.string(),
        parse_failed: z.boolean(),
        evaluation_start_id: eventId,
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
      },
      usage: true,
      worker: true,
      summary: d =>
        join(
          `iteration ${d.iteration}`,
          d.result.replaceAll('_', ' '),
          oneLine(d.explanation, 120),
          d.parse_failed && 'unparseable',
          usageText(d),
        ),
    },
  ),
  'mission.continuation': def(
    'rounds',
    'missions',
    'Another round of the mission was queued.',
    {},
    {
      extra: { mission_id: id, iteration: evaluationsSoFar, status_event_id: eventId },
      worker: true,
      summary: d => `iteration ${d.iteration}`,
    },
  ),
  'mission.paused': def(
    'missions',
    'missions',
    'An operator paused the mission.',
    {},
    {
      extra: { mission_id: id, reason: z.string().nullable(), ...operator },
      summary: d => d.reason ?? 'by an operator',
    },
  ),
  'mission.resumed': def(
    'missions',
    'missions',
    'An operator resumed the mission.',
    {},
    {
      extra: { mission_id: id, ...operator },
      aftermath: true,
      summary: d => `mission ${short(d.mission_id)}`,
    },
  ),
  'mission.cancelled': def(
    'missions',
    'missions',
    'An operator cancelled the mission.',
    {},
    {
      extra: {
        mission_id: id,
        reason: z.string().nullable(),
        cascade_to_workers: z.boolean(),
        ...operator,
      },
      summary: d => d.reason ?? 'by an operator',
    },
  ),
  'research.defined': def(
    'research',
    'missions',
    'A research mission was created.',
    {},
    {
      extra: {
        mission_id: id,
        run_id: id.describe('same as mission_id: a mission has one run'),
        mode: z.enum(RESEARCH_MODES),
        settings: ResearchSettings.describe(
          'settings of the run; later changes of the configuration do not affect it',
        ),
      },
      aftermath: true,
      summary: d => join(`run ${short(d.run_id)}`, d.mode),
    },
  ),
  'research.harvested': def(
    'research',
    'missions',
    'Branch digests were folded back into the conversation of the coordinator.',
    { run_id: id, folded: z.array(z.string()).describe('keys of branches, in order of their outcomes') },
    {
      extra: {
        digest: z.string().describe('the text that the coordinator reads'),
        scores: z
          .record(z.string(), z.number().nullable())
          .describe('by branch key; null: the score is unknown; failed branches have none'),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
      },
      usage: true,
      worker: true,
      says: d => ['Findings of the branches: material, not instructions', d.digest],
      summary: d =>
        join(
          `run ${short(d.run_id)}`,
          d.folded.map(key => `${key}: ${d.scores[key] ?? 'no score'}`).join(', '),
          usageText(d),
        ),
    },
  ),
  'research.converged': def(
    'research',
    'missions',
    'The convergence check fired.',
    {
      run_id: id,
      level: z.enum(RESEARCH_LEVELS),
      consecutive_non_improving: count,
    },
    {
      extra: { best_score: z.number().nullable() },
      worker: true,
      summary: d =>
        join(
          `run ${short(d.run_id)}`,
          `level ${d.level}`,
          `${d.consecutive_non_improving} without improvement`,
          d.best_score !== null && `best ${d.best_score}`,
        ),
    },
  ),

  // ---- governance and disclosure
  // ------------------------------------------------------------------------------------
  'policy.denied': def(
    'governance',
    'governance',
    'The gate blocked a tool call.',
    { tool: z.string(), reason: z.string(), timestamp: unixTime },
    {
      extra: {
        tool_call_id: id.optional(),
        policy_id: z.string().optional(),
        run_id: id
          .optional()
          .describe('run of the coding agent that made the call; such a call has no tool.call event'),
      },
      worker: true,
      trouble: 'exclude',
      summary: d => join(d.tool, oneLine(d.reason)),
    },
  ),
  'policy.allowed': either(
    'governance',
    'governance',
    'Pass-through of the gate (only with governance.log_allowed), or the approved retry of a gated call.',
    { tool: z.string(), check: z.literal('governance_gate'), timestamp: unixTime },
    { tool_name: z.string(), reason: z.literal('human approval'), tool_call_id: id },
    {
      worker: true,
      extra: {
        ...DECIDED_BY,
        run_id: id
          .optional()
          .describe('run of the coding agent that made the call; such a call has no tool.call event'),
      },
      summary: d =>
        'tool' in d
          ? join(String(d.tool), String(d['check']))
          : join(d.tool_name, d.reason, d.decided_by_service_account_id && 'by a service account'),
    },
  ),
  'disclosure.presented': def(
    'disclosure',
    'governance',
    'A messaging channel posted the AI disclosure as first message of a conversation.',
    { level: z.string(), channel: z.string(), delivery: z.literal('channel_message') },
    {
      extra: {
        language: z.string().optional().describe('language of the text'),
        text_sha256: z.string().optional().describe('SHA-256 of the exact text that was posted'),
        platform_message_id: z.string().optional(),
      },
      aftermath: true,
      summary: d => join(d.level, d.channel, d.language),
    },
  ),
  'disclosure.confirmed': def(
    'disclosure',
    'governance',
    'A web user accepted the disclosure banner.',
    { level: z.string(), source: z.literal('web_banner') },
    {
      extra: {
        principal_user_id: id.optional(),
        visitor_id: z.string().optional().describe('visitor of a website, who has no user account'),
      },
      aftermath: true,
      summary: d => join(d.level, 'accepted in the web UI'),
    },
  ),

  // ---- saga
  // ---------------------------------------------------------------------------------------------------------
  'saga.start': def(
    'saga',
    'saga',
    'A saga was activated at the start of the session.',
    {
      saga_id: id,
      session_id: id,
      timestamp: unixTime,
    },
    { saga: 'begins', summary: d => `saga ${short(d.saga_id)}` },
  ),
  'saga.step_begin': def('saga', 'saga', 'A step of the saga is about to run.', sagaStep, {
    arguments: true,
    summary: sagaStepText,
  }),
  'saga.step_committed': def('saga', 'saga', 'A step of the saga took effect.', sagaStep, {
    arguments: true,
    summary: sagaStepText,
  }),
  'saga.step_failed': def('saga', 'saga', 'A step of the saga failed.', sagaStep, {
    arguments: true,
    summary: sagaStepText,
  }),
  'saga.compensate': def(
    'saga',
    'saga',
    'A rollback fired; a non-empty failed_steps needs an operator.',
    {
      saga_id: id,
      steps_rolled_back: z.array(id),
      reason: z.string(),
      timestamp: unixTime,
      failed_steps: z.array(id).optional(),
    },
    {
      extra: { told: z.string().optional().describe('what the model reads when the session continues') },
      trouble: 'exclude',
      summary: d =>
        join(
          `rolled back ${plural(d.steps_rolled_back.length, 'step')}`,
          d.reason,
          d.failed_steps &&
            d.failed_steps.length > 0 &&
            `${plural(d.failed_steps.length, 'step')} could not be undone: an operator must intervene`,
        ),
    },
  ),
  'saga.complete': def(
    'saga',
    'saga',
    'The saga ended; exactly once.',
    {
      saga_id: id,
      status: z.enum(['committed', 'compensated', 'escalated']),
      steps_executed: count,
      timestamp: unixTime,
    },
    { saga: 'ends', summary: d => join(d.status, plural(d.steps_executed, 'step')) },
  ),

  // ---- experts and feedback
  // -----------------------------------------------------------------------------------------
  'expert.delegation': def(
    'experts',
    'experts',
    'The model called consult_expert.',
    { expert: z.string(), task: z.string().max(500), tools: z.array(z.string()), max_iterations: count },
    {
      extra: { tool_call_id: id.optional() },
      worker: true,
      summary: d => join(d.expert, quote(d.task), `at most ${plural(d.max_iterations, 'iteration')}`),
    },
  ),
  'expert.result': def(
    'experts',
    'experts',
    'The expert finished.',
    { expert: z.string(), success: z.literal(true), iterations_used: count, content: z.string() },
    {
      extra: {
        tool_call_id: id.optional(),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
        trace: ExpertTrace.optional(),
      },
      usage: true,
      worker: true,
      summary: d => join(d.expert, quote(d.content), plural(d.iterations_used, 'iteration'), usageText(d)),
    },
  ),
  'expert.failure': def(
    'experts',
    'experts',
    'The expert errored or exhausted its iteration budget.',
    { expert: z.string(), success: z.literal(false), iterations_used: count, error: z.string() },
    {
      extra: {
        tool_call_id: id.optional(),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
        trace: ExpertTrace.optional(),
      },
      usage: true,
      worker: true,
      summary: d => join(d.expert, quote(d.error), plural(d.iterations_used, 'iteration'), usageText(d)),
    },
  ),
  'expert.endorse': def(
    'feedback',
    'experts',
    'A user or judge rated an expert.result up.',
    {
      expert: z.string(),
      ...rating,
    },
    { aftermath: true, extra: takenBack, summary: d => join(d.expert, ratingText(d)) },
  ),
  'expert.override': def(
    'feedback',
    'experts',
    'A user or judge rated an expert.result down.',
    {
      expert: z.string(),
      ...rating,
    },
    {
      aftermath: true,
      trouble: 'note',
      extra: takenBack,
      summary: d => join(d.expert, ratingText(d)),
    },
  ),
  'user.feedback': def('feedback', 'experts', 'A user or judge rated an llm.response.', rating, {
    aftermath: true,
    extra: takenBack,
    summary: ratingText,
  }),

  // ---- goals
  // --------------------------------------------------------------------------------------------------------
  'user.define_outcome': def(
    'goals',
    'goals',
    'A goal was set through the POST events API.',
    {
      ...goal,
      processed_at: z.string(),
    },
    { aftermath: true, summary: goalText },
  ),
  'outcome.defined': def('goals', 'goals', 'A goal was saved by /goal.', goal, {
    worker: true,
    summary: goalText,
  }),
  'span.outcome_evaluation_start': def(
    'evaluator',
    'goals',
    'The evaluator opened its span around one turn.',
    {
      outcome_id: id,
      iteration: evaluationsBefore,
      response_event_id: eventId,
    },
    {
      worker: true,
      summary: d => join(`iteration ${d.iteration}`, `of event ${d.response_event_id}`),
    },
  ),
  'span.outcome_evaluation_ongoing': def(
    'evaluator',
    'goals',
    'The evaluator is running.',
    {
      outcome_id: id,
      iteration: evaluationsBefore,
    },
    { worker: true, summary: d => `iteration ${d.iteration}` },
  ),
  'span.outcome_evaluation_end': def(
    'evaluator',
    'goals',
    'The evaluator returned a verdict.',
    {
      outcome_id: id,
      outcome_evaluation_start_id: eventId,
      iteration: evaluationsSoFar,
      result: z.enum(EVALUATION_RESULTS),
      explanation: z.string(),
      feedback: z.string(),
      parse_failed: z.boolean(),
    },
    {
      extra: {
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
      },
      usage: true,
      worker: true,
      summary: d =>
        join(
          `iteration ${d.iteration}`,
          d.result.replaceAll('_', ' '),
          oneLine(d.explanation, 120),
          d.parse_failed && 'unparseable',
          usageText(d),
        ),
    },
  ),
  'outcome.continuation': def(
    'evaluator',
    'goals',
    'A continuation of the goal was queued.',
    {
      outcome_id: id,
      iteration: evaluationsSoFar,
      status_event_id: eventId.nullable(),
    },
    { worker: true, summary: d => `iteration ${d.iteration}` },
  ),
  'outcome.paused': def(
    'goals',
    'goals',
    'The goal was paused by /goal pause.',
    {
      outcome_id: id,
      reason: z.literal('user-paused'),
    },
    { worker: true, summary: d => d.reason },
  ),
  'outcome.cleared': def(
    'goals',
    'goals',
    'The goal was removed by /goal clear; null when none was active.',
    {
      outcome_id: id.nullable(),
    },
    {
      worker: true,
      summary: d => (d.outcome_id === null ? 'nothing was active' : `goal ${short(d.outcome_id)}`),
    },
  ),

  // ---- inbox
  // --------------------------------------------------------------------------------------------------------
  'inbox.input_required': def(
    'inbox',
    'inbox',
    'The agent asked the user a question.',
    {},
    {
      channel: true,
      extra: { tool_call_id: id, questions: z.array(Question), context: z.string().optional() },
      asks: 'waits',
      worker: true,
      summary: d => d.questions.map(q => quote(q.prompt)).join('; '),
    },
  ),
  'inbox.action_required': def(
    'inbox',
    'inbox',
    'An external action is needed (browser login, multi-factor step and similar).',
    {},
    {
      extra: {
        title: z.string(),
        instructions: z.string(),
        context: z.string(),
        action_type: z.string(),
        target: z.string().nullable(),
        reason: z.string(),
        tool_call_id: id.optional(),
        proposal: SkillProposal.optional().describe('action_type "skill_proposal": the proposed skill'),
      },
      channel: true,
      asks: 'waits',
      summary: d => join(d.title, d.action_type, d.target, oneLine(d.instructions, 100)),
    },
  ),
  'inbox.task_complete': def(
    'inbox',
    'inbox',
    'Informational completion.',
    {},
    {
      extra: {
        outcome: z.string(),
        summary: z.string(),
        duration_seconds: seconds,
        session_title: z.string().nullable(),
        review_wake_id: eventId
          .optional()
          .describe('set at the end of a background review: the harness.wake that started it'),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
      },
      usage: true,
      summary: d => join(d.outcome, oneLine(d.summary), secondsText(d.duration_seconds)),
    },
  ),
  'inbox.governance_gate': def(
    'inbox',
    'inbox',
    'An overridable denial awaits a human decision.',
    {
      tool_name: z.string(),
      tool_call_id: id,
      arguments_excerpt: z.string().max(500),
      deny_reason: z.string(),
      policy_id: z.string(),
    },
    {
      extra: {
        run_id: id.optional().describe('run of the coding agent that made the call'),
        repeats_tool_call_id: id
          .optional()
          .describe('an identical earlier call that is still undecided; the item of that call decides both'),
        arguments: json
          .optional()
          .describe('all effective arguments that an approval would allow; absent for a repeated gate'),
        tool_description: z
          .string()
          .optional()
          .describe('tool of an MCP server: the description that the server gives'),
        definition_hash: z
          .string()
          .optional()
          .describe('SHA-256 of the definition of that tool; an approval is valid for this definition only'),
        redactions: count
          .optional()
          .describe('number of parts of the arguments that are secrets: they are used but not shown'),
        shown_hash: z
          .string()
          .optional()
          .describe(
            'SHA-256 of the canonical JSON of `arguments`; a client sends it to state what it showed',
          ),
      },
      channel: true,
      asks: 'goes_on',
      worker: true,
      arguments: true,
      summary: d =>
        join(
          `${d.tool_name} awaits a decision`,
          oneLine(d.arguments_excerpt, 80),
          d.deny_reason,
          d.policy_id,
        ),
    },
  ),
  'inbox.progress_checkin': def(
    'inbox',
    'inbox',
    'Status update of a long-running session.',
    {},
    {
      extra: {
        progress_summary: z.string(),
        iterations: count,
        last_tool: z.string().nullable(),
        elapsed_seconds: seconds,
      },
      summary: d =>
        join(oneLine(d.progress_summary), plural(d.iterations, 'iteration'), secondsText(d.elapsed_seconds)),
    },
  ),

  // ---- browser and code
  // ---------------------------------------------------------------------------------------------
  'browser.provisioned': def(
    'browser',
    'browser',
    'A browser was allocated to the agent.',
    {},
    {
      extra: {
        session_id: id,
        browser_id: id,
        provider: z.enum(['local', 'cdp']).optional(),
        version: z.string().optional(),
      },
      summary: d => `browser ${short(d.browser_id)}`,
    },
  ),
  'browser.destroyed': def(
    'browser',
    'browser',
    'The browser was torn down.',
    {},
    {
      extra: {
        session_id: id,
        browser_id: id,
        reason: z.enum(['closed', 'idle', 'limit', 'archived', 'shutdown', 'crashed', 'moved', 'lost']),
      },
      summary: d => join(`browser ${short(d.browser_id)}`, d.reason),
    },
  ),
  'browser.control_granted': def(
    'browser',
    'browser',
    'A user took over the live view.',
    {},
    {
      extra: { session_id: id, owner_user_id: id, browser_id: id, inbox_item_id: id.nullable() },
      summary: d => `to ${short(d.owner_user_id)}`,
    },
  ),
  'browser.control_returned': def(
    'browser',
    'browser',
    'The user handed the live view back.',
    {},
    {
      extra: {
        session_id: id,
        released_by: z.string(),
        browser_id: id,
        reason: z.enum(['returned', 'expired', 'forced', 'destroyed']),
        seconds: count,
        inputs: count,
        origins: z.array(z.string()).describe('scheme and host of the visited sites; never what was typed'),
      },
      summary: d => join(`by ${d.released_by}`, d.reason, `${d.seconds} s`),
    },
  ),
  'code.run_started': def(
    'code',
    'code',
    'A /code run began; at most once per source event.',
    {},
    {
      extra: {
        ...codeRun,
        provider: z.string(),
        prompt: z.string(),
        source_event_id: eventId,
        tool_call_id: id
          .optional()
          .describe('the run_coding_agent call; absent: a /code command started the run'),
        repo: z.string().optional().describe('repository of code.repos that it works in'),
        branch: z.string().optional().describe('branch of its worktree, if it has one'),
      },
      worker: true,
      summary: d => join(d.agent, d.provider, quote(d.prompt)),
    },
  ),
  'code.run_progress': def(
    'code',
    'code',
    'Coalesced output of the coding agent; never delivered to channels.',
    {},
    {
      extra: {
        ...codeRun,
        chunk: z.string(),
        seq: count.optional().describe('from 0 in each run; continues when the run resumes in a new process'),
        kind: z.enum(['text', 'tool', 'plan']).optional(),
      },
      worker: true,
      summary: d => oneLine(d.chunk),
    },
  ),
  'code.run_channel_update': def(
    'code',
    'code',
    'Throttled "still working", for channel sessions only.',
    {},
    {
      channel: true,
      extra: {
        ...codeRun,
        text: z.string(),
        minutes: count.optional().describe('minutes since the run started, rounded'),
      },
      worker: true,
      summary: d => oneLine(d.text),
    },
  ),
  'code.run_result': def(
    'code',
    'code',
    'The coding agent ended: final message and token usage.',
    {},
    {
      extra: {
        ...codeRun,
        final_message: z.string().nullable(),
        error: z.string().nullable(),
        input_tokens: count,
        output_tokens: count,
        tool_call_id: id.optional().describe('the call that started the run'),
        stop_reason: z
          .string()
          .optional()
          .describe('as the agent reports it: end_turn, max_tokens, refusal …'),
        cache_read_tokens: count.optional(),
        cost_usd: z.number().nonnegative().optional(),
        cost_unpriced_model: z.string().optional(),
        usage_unknown: z
          .boolean()
          .optional()
          .describe('the agent reported no usage: the token counts are 0 although tokens were used'),
        files_changed: z.array(z.string()).optional(),
        changes: z
          .strictObject({ before: z.string(), after: z.string() })
          .optional()
          .describe('checkpoints of these files before and after the run, except files that are too large'),
        duration_seconds: seconds.optional(),
      },
      usage: true,
      read_later: true,
      says: d => [
        `Coding run ${d.run_id} of ${d.agent} ended`,
        clip(
          join(d.error === null ? '' : `Error: ${d.error}`, d.final_message ?? '') +
            (d.files_changed?.length ? `\nFiles changed: ${d.files_changed.join(', ')}` : ''),
          CODE_NOTE_CHARS,
        ),
      ],
      summary: d =>
        join(
          d.error === null ? oneLine(d.final_message ?? 'no message', 120) : `✕ ${oneLine(d.error, 120)}`,
          usageText(d),
        ),
    },
  ),

  // ---- lifecycle
  // ----------------------------------------------------------------------------------------------------
  'harness.wake': either(
    'wake',
    'lifecycle',
    'A worker acquired the lease of the session and began processing; first event of every turn. The ' +
      'background review has review flags in place of the cursor.',
    { worker_id: id, cursor: count },
    { worker_id: id, review_memory: z.boolean(), review_skills: z.boolean() },
    {
      starts_turn: true,
      summary: d =>
        'cursor' in d
          ? `worker ${short(d.worker_id)} from ${String(d.cursor)}`
          : join(`worker ${short(d.worker_id)}`, 'background review'),
    },
  ),
  'session.pause': def(
    'lifecycle',
    'lifecycle',
    'The session was paused.',
    {},
    {
      extra: { reason: z.string().optional() },
      status: 'paused',
      saga: 'rolls_back',
      summary: d => d.reason ?? '',
    },
  ),
  'session.resume': def(
    'lifecycle',
    'lifecycle',
    'The session became active again.',
    {},
    {
      extra: { source: z.string().optional() },
      wakes: true,
      status: 'active',
      starts_turn: true,
      aftermath: true,
      summary: d => (d.source === undefined ? '' : `by ${d.source}`),
    },
  ),
  'session.complete': def(
    'lifecycle',
    'lifecycle',
    'The last turn ended.',
    {},
    {
      extra: {
        reason: z.enum(['completed', 'budget_exhausted', 'tool_loop', 'stopped']),
        worker_id: id.optional(),
      },
      status: 'completed',
      summary: d => d.reason.replaceAll('_', ' '),
    },
  ),
  'session.fail': def(
    'lifecycle',
    'lifecycle',
    'The session failed.',
    {},
    {
      channel: true,
      extra: { reason: z.string(), ...failure, attempts: count.optional() },
      status: 'failed',
      saga: 'rolls_back',
      alarm: true,
      trouble: 'note',
      summary: d =>
        join(d.reason, d.error_category, quote(d.error), d.retryable ? 'can be retried' : 'final'),
    },
  ),
  'session.stopped': def(
    'lifecycle',
    'lifecycle',
    'A stop aborted the running turn; the session stays active.',
    {},
    {
      channel: true,
      extra: { reason: z.string(), worker_id: id.optional() },
      saga: 'rolls_back',
      summary: d => d.reason,
    },
  ),
  'session.model_escalated': def(
    'turn',
    'lifecycle',
    'The model was swapped within the turn to get past a provider behaviour.',
    { reason: z.string(), model: z.string() },
    { worker: true, summary: d => join(`to ${d.model}`, d.reason) },
  ),
  'session.title_updated': def(
    'titles',
    'lifecycle',
    'The title changed.',
    {},
    {
      // Provisional: the beginning of the first message, until a model has generated a title.
      extra: { title: z.string(), provisional: z.boolean().optional() },
      aftermath: true,
      summary: d => quote(d.title),
    },
  ),
  'harness.crash': def(
    'wake',
    'lifecycle',
    'The runtime raised and the turn died.',
    {},
    {
      extra: { worker_id: id, ...failure },
      alarm: true,
      trouble: 'exclude',
      summary: d =>
        join(
          d.error_category,
          quote(d.error),
          `worker ${short(d.worker_id)}`,
          d.retryable ? 'will be retried' : 'final',
        ),
    },
  ),
  'harness.recovered': def(
    'sweeper',
    'lifecycle',
    'A session abandoned by a dead worker was found; documents the gap and retries.',
    {},
    {
      extra: { recovered_by: z.string(), stale_seconds: seconds },
      alarm: true,
      summary: d => join(`by ${d.recovered_by}`, `after ${secondsText(d.stale_seconds)} without activity`),
    },
  ),
  'context.compact': def(
    'turn',
    'lifecycle',
    'The context was compressed: the model reads compacted_messages in place of the earlier events, ' +
      'which stay in the log.',
    {},
    {
      extra: {
        strategy: z.enum(['summary', 'clear']),
        original_message_count: count,
        compressed_message_count: count,
        through_event_id: count,
        compacted_messages: z.array(json),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
        reason: z.enum(['threshold', 'overflow', 'command']).optional(),
        truncated: z
          .boolean()
          .optional()
          .describe('no summary could be generated; older messages were shortened by rule'),
      },
      usage: true,
      worker: true,
      summary: d =>
        join(
          d.strategy,
          `${d.original_message_count} → ${d.compressed_message_count} messages`,
          `through event ${d.through_event_id}`,
          usageText(d),
        ),
    },
  ),
  'artifact.created': def(
    'tools',
    'tools',
    'create_artifact produced an inline artifact; metadata only.',
    {},
    {
      channel: true,
      extra: {
        artifact_id: id,
        name: z.string(),
        kind: z.enum(ARTIFACT_KINDS),
        version: z.int().positive(),
        size: count,
        tool_call_id: id.optional(),
        originating_session_id: id.optional(),
      },
      worker: true,
      summary: d => join(d.name, d.kind, d.version > 1 && `version ${d.version}`, formatSize(d.size)),
    },
  ),
  'loop.result': def(
    'coordination',
    'coordination',
    'Final answer of a scheduled run, delivered on the parent session.',
    {},
    {
      channel: true,
      extra: {
        run_session_id: id,
        schedule_id: id.optional(),
        scheduled_session_id: id.describe('the id of the schedule, not of a session; same as schedule_id'),
        content: z.string(),
        outcome: z.enum(RUN_OUTCOMES),
        duration_seconds: seconds,
        run_completed_at: z.string(),
        slot_at: z.string().optional(),
        run_number: count.optional(),
        truncated: z.boolean().optional(),
        wake: z
          .boolean()
          .optional()
          .describe('the result wakes the session; absent: the session reads it in its next turn'),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
      },
      wakes: true,
      read_later: true,
      says: d => [`Scheduled run ${d.run_session_id} ended (${d.outcome})`, d.content],
      summary: d => join(d.outcome, quote(d.content), secondsText(d.duration_seconds)),
    },
  ),

  // ---- declared, never produced
  // -------------------------------------------------------------------------------------
  'session.start': reserved('session'),
  'session.reset': reserved('session'),
  'memory.update': reserved('memory'),
  'artifact.updated': reserved('artifact'),
  'ambient.tick': reserved('ambient'),
  'ambient.post': reserved('ambient'),
  'sandbox.provision': reserved('sandbox'),
  'sandbox.execute': reserved('sandbox'),
  'sandbox.result': reserved('sandbox'),
  'sandbox.destroy': reserved('sandbox'),
  'research.dispatched': reserved('research'),
  'research.merged': reserved('research'),
  'research.pruned': reserved('research'),
  'research.report': reserved('research'),
} as const

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

/** The payload of a type as its writer must supply it. */
export type EventData<T extends EventType> = z.input<(typeof EVENTS)[T]['write']>
/** The payload of a type as a reader gets it: the known keys, possibly with others. */
export type ReadData<T extends EventType> = z.output<(typeof EVENTS)[T]['read']>
/** The types that a producer may write. */
export type WrittenBy<P extends Producer> = {
  [T in EventType]: (typeof EVENTS)[T]['producer'] extends P ? T : never
}[EventType]

export const isEventType = (type: string): type is EventType => Object.hasOwn(EVENTS, type)
