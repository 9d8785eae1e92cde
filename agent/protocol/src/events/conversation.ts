/** Messages, model calls and the summaries of turns. */
import { z } from 'zod'
import { def } from './define.ts'
import { join, quote, plural, secondsText, usageText, formatTokens, oneLine } from './event-text.ts'
import { id, json, count, seconds, turnOptional, eventId } from './fields.ts'
import {
  ChannelSource,
  Attachment,
  Image,
  AssistantMessage,
  Answer,
  ImportStamp,
  LearnedFact,
} from './shapes.ts'

/** Position of an event in its turn: one turn_id per user turn, iterations counted from 0 within it. */
const turn = { turn_id: id, iteration_index: count }

const advice = {
  model: z.string(),
  category: z.string(),
  turn_id: id.optional(),
  iteration_index: count.optional().describe('iteration of the answer that was reviewed'),
}

export const CONVERSATION_EVENTS = {
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
        request_key: id.optional().describe('hash of the key of the request that added it'),
        forked_from: z.object({ session_id: id, event_id: count }).optional(),
        history: z
          .array(json)
          .optional()
          .describe('for a fork or an import: a conversation; the model reads it instead of this message'),
        imported: ImportStamp.optional().describe('for an import: where `history` comes from'),
        passes_over: z
          .array(id)
          .optional()
          .describe('tool calls of the pending questions that this message leaves unanswered'),
      },
      wakes: true,
      starts_turn: true,
      aftermath: true,
      shape: 'step',
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
        learned: z
          .array(LearnedFact)
          .optional()
          .describe('what the refusal of the previous attempt showed about the model server'),
        omitted_tools: z
          .array(z.string())
          .optional()
          .describe('tools that the model server does not accept; stated when they change in a turn'),
      },
      worker: true,
      shape: 'step',
      summary: d =>
        join(
          d.model,
          `iteration ${d.iteration_index}`,
          d.attempt !== undefined && d.attempt > 0 && `attempt ${d.attempt + 1}`,
          d.tools_disabled && 'no tools',
          d.learned && `learned ${d.learned.map(one => one.fact).join(', ')}`,
          d.omitted_tools && `without ${oneLine(d.omitted_tools.join(', '), 120)}`,
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
      shape: 'step',
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
        request_key: id.optional().describe('hash of the key of the request that added it'),
      },
      wakes: true,
      shape: 'halt',
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
      shape: 'end',
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
} as const
