/** Items of the inbox. */
import { z } from 'zod'
import { def } from './define.ts'
import { quote, join, oneLine, secondsText, plural } from './event-text.ts'
import { id, seconds, eventId, count, json } from './fields.ts'
import { Question, SkillProposal } from './shapes.ts'

export const INBOX_EVENTS = {
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
      shape: 'step',
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
        item_id: id.optional().describe('the item of this action'),
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
      shape: 'step',
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
        item_id: id.optional().describe('the item that a person decides; absent for a repeated gate'),
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
      shape: 'step',
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
} as const
