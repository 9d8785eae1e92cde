/** Skills and the plan of an agent. */
import { z } from 'zod'
import { def } from './define.ts'
import { join, quote, oneLine } from './event-text.ts'
import { eventId } from './fields.ts'
import { Todo } from './shapes.ts'

export const PLAN_EVENTS = {
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
} as const
