/** Tool calls and their results. */
import { z } from 'zod'
import { def } from './define.ts'
import { oneLine, compact, toolResultText } from './event-text.ts'
import { id, json, turnOptional, count } from './fields.ts'
import { ResultPicture } from './shapes.ts'

export const TOOL_EVENTS = {
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
        corrections: z
          .array(z.string())
          .optional()
          .describe('what was corrected in the arguments of the model, which did not match the schema'),
        verdict: z
          .enum(['ask', 'deny'])
          .optional()
          .describe(
            'decision of the policy, if it did not allow the call: a person is asked, or it is denied',
          ),
        approves_tool_call_id: id
          .optional()
          .describe('the gated call that a person approved and this call repeats'),
      },
      worker: true,
      arguments: true,
      reported: true,
      shape: 'step',
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
      extra: {
        ...turnOptional,
        truncated: z.boolean().optional(),
        full_result_path: z.string().optional(),
        pictures: z
          .array(ResultPicture)
          .optional()
          .describe('pictures of the result: files of the workspace, which models that see are shown'),
      },
      worker: true,
      reported: true,
      shape: 'step',
      summary: toolResultText,
    },
  ),
} as const
