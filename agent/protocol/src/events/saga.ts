/** Steps with an undo, and their rollback. */
import { z } from 'zod'
import { def } from './define.ts'
import { short, sagaStepText, join, plural } from './event-text.ts'
import { id, unixTime, count, json } from './fields.ts'

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

export const SAGA_EVENTS = {
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
} as const
