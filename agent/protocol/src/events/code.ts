/** Runs of coding agents. */
import { z } from 'zod'
import { clip } from '../text/clip.ts'
import { def } from './define.ts'
import { join, quote, oneLine, usageText } from './event-text.ts'
import { eventId, id, count, seconds } from './fields.ts'

const codeRun = { run_id: id, agent: z.string() }
/** Limit of what the model reads of a code run that it did not start itself. */
const CODE_NOTE_CHARS = 4000

export const CODE_EVENTS = {
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
} as const
