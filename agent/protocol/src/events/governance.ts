/** Decisions of the policy, and the AI disclosure. */
import { z } from 'zod'
import { def, either } from './define.ts'
import { join, oneLine } from './event-text.ts'
import { unixTime, id } from './fields.ts'
import { DECIDED_BY } from './shapes.ts'

export const GOVERNANCE_EVENTS = {
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
} as const
