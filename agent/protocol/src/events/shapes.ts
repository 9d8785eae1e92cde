/** Public value shapes and enumerations of events. */
import { z } from 'zod'
import { id, json, count } from './fields.ts'

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
/** A message of an imported conversation, as the model reads it. */
export const ImportedMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: z.string() }),
  AssistantMessage.omit({ reasoning_details: true }),
  z.strictObject({ role: z.literal('tool'), tool_call_id: id, content: z.string() }),
])
export const ImportStamp = z.strictObject({
  format: z.string(),
  source_id: z.string().describe('the id of the conversation in its source'),
  first: count.describe('position of the first message of this part in the conversation'),
  sha256: z
    .string()
    .describe(
      'hash of the conversation up to the end of this part: SHA-256 of the hash before and the message',
    ),
  tool_version: z.string().optional().describe('version of the program that wrote the source'),
  parent_source_id: z.string().optional().describe('the conversation that started this one as a subagent'),
})
export const LearnedFact = z.strictObject({
  fact: z.string().describe('key of the server profile, as in models.catalog.<model>.server'),
  value: z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]),
  reason: z.string().describe('the words of the refusal, cut'),
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
/** A picture of a tool's result: a file of the workspace. */
export const ResultPicture = z.strictObject({ path: z.string(), mime_type: Image.shape.mime_type })
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
export type ImportedMessage = z.output<typeof ImportedMessage>
export type ImportStamp = z.output<typeof ImportStamp>
export type ChannelSource = z.output<typeof ChannelSource>
export type Attachment = z.output<typeof Attachment>
export type Image = z.output<typeof Image>
export type ResultPicture = z.output<typeof ResultPicture>
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

/** The decider of an item: one of the two keys, or neither if it was not recorded. */
export const DECIDED_BY = {
  decided_by_user_id: id.optional(),
  decided_by_service_account_id: id.optional(),
}
export const SkillProposal = z.strictObject({
  name: z.string(),
  description: z.string(),
  body: z.string().min(1),
})
export type SkillProposal = z.output<typeof SkillProposal>
