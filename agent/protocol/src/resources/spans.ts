/** Spans: a session's log as steps with a start and an end, for drawing it on an axis of time. */
import { z } from 'zod'

/** The kinds of spans. The wire names a kind by its position in this list, so new ones go to the end. */
export const SPAN_KINDS = ['turn', 'model', 'tool', 'browser', 'worker', 'wait', 'gap', 'mark'] as const
export type SpanKind = (typeof SPAN_KINDS)[number]

/** Bits of the `flags` of a span. */
export const SPAN_FLAGS = {
  failed: 1,
  /** Ended by a crash, a pause or a stop before its result. */
  interrupted: 2,
  /** A wait that a person answered or approved. */
  approved: 4,
  /** A wait that a person rejected, or that expired. */
  rejected: 8,
  /** An expected miss: a file or a match that does not exist. */
  missed: 16,
  /** A turn whose own work has ended, while its workers or waits are still open. */
  ended: 32,
  /** A call that another span shows: the worker that it started. */
  replaced: 64,
  /** A turn of the background review. */
  review: 128,
} as const
export type SpanFlag = keyof typeof SPAN_FLAGS

export const SpanFacts = z.object({
  exit: z.int().optional().describe('exit code of a command'),
  status: z.int().optional().describe('HTTP status of a request'),
  cost_usd: z.number().nonnegative().optional().describe('cost of a worker and its subtree'),
  session_id: z.string().optional().describe('session of a worker'),
})
export type SpanFacts = z.infer<typeof SpanFacts>

const column = z.array(z.int())

/** A table of spans as columns. All columns have the same length; a span is a position in them. */
export const SpanTable = z
  .object({
    session_id: z.string(),
    through_event_id: z.int().describe('the last event that the table contains; 0: none'),
    started_at: z.number().describe('epoch milliseconds; `from` and `to` are milliseconds after it'),
    from: column,
    to: z.array(z.int().nullable()).describe('null: the span is open'),
    kind: column.describe(`positions in: ${SPAN_KINDS.join(', ')}`),
    depth: column.describe('0 for a turn, 1 for a step of a turn'),
    parent: column.describe('position of the turn; -1: none'),
    event: column.describe('the event that started the span'),
    last_event: column.describe('the event that ended it, or its latest event'),
    flags: column.describe(
      Object.entries(SPAN_FLAGS)
        .map(([name, bit]) => `${bit} ${name}`)
        .join(', '),
    ),
    first: column.describe('model calls: the part of the duration before the first token, in 255ths'),
    names: z.array(z.string()).describe('tool, model or agent; of a mark, its type'),
    objects: z.array(z.string()).describe('what the step is about, shortened'),
    facts: z.array(z.tuple([z.int(), SpanFacts])),
    resume: z
      .object({
        at: z.number(),
        turn: z.int(),
        first_token_at: z.number(),
        open: z.array(z.tuple([z.string(), z.int()])),
      })
      .nullable()
      .describe('what a reader needs to add later events; null if only a part of the table was requested'),
  })
  .meta({ id: 'SpanTable' })
export type SpanTable = z.infer<typeof SpanTable>
