/** The route of the Run view: a session's log as spans. */
import { z } from 'zod'
import { SpanTable } from '../resources/index.ts'
import { integer, onSession } from './fields.ts'
import type { Route } from './route.ts'

export const SPAN_ROUTES = {
  sessionSpans: {
    method: 'GET',
    path: '/sessions/{id}/spans',
    summary: 'Get the log as spans: turns, model calls, tool calls, workers and waits, with their times',
    ...onSession,
    query: z.object({
      from: integer('from').optional().describe('epoch milliseconds: only spans that end at or after it'),
      to: integer('to').optional().describe('epoch milliseconds: only spans that start at or before it'),
      depth: integer('depth').optional().describe('0: only turns and what is outside of turns'),
    }),
    status: 200,
    answer: SpanTable,
  },
} as const satisfies Record<string, Route>
