/**
 * Routes that find sessions: the filters shared by list and search, the search, and the stream of changes.
 */
import { z } from 'zod'
import { Session } from '../resources/index.ts'
import { SEARCHED_TEXTS, SESSION_SORTS, SESSION_STATES, SESSION_STATUSES } from '../enums/sessions.ts'
import { list, page } from './fields.ts'
import type { Route } from './route.ts'

const names = (what: string) =>
  z
    .string()
    .max(500)
    .transform(text => text.split(',').filter(name => name !== ''))
    .pipe(z.array(z.string()).min(1, `${what} must contain at least one name`))
const time = (what: string) =>
  z
    .string()
    .refine(text => !Number.isNaN(Date.parse(text)), `${what} must be a date or a time such as 2026-11-21`)
    .transform(text => Date.parse(text))

export const SESSION_FILTERS = {
  status: list(SESSION_STATUSES).optional(),
  state: list(SESSION_STATES).optional(),
  agent: names('agent').optional().describe('names of agents, separated by commas'),
  channel: names('channel').optional().describe('names of channels, separated by commas'),
  min_cost_usd: z
    .string()
    .regex(/^\d{1,9}(\.\d{1,9})?$/, 'min_cost_usd must be a number')
    .transform(Number)
    .optional(),
  since: time('since').optional().describe('last changed at this time or later'),
  until: time('until').optional().describe('last changed before this time'),
  parent_id: z
    .string()
    .max(128)
    .optional()
    .describe('only children of that session; none: only sessions without a parent'),
  sort: z
    .enum(SESSION_SORTS)
    .optional()
    .describe('newest first (default), last changed first, or highest cost first'),
}

const SearchHit = z
  .object({
    event_id: z.int().nonnegative().describe('0: the session itself (title, agent and id)'),
    in: z.enum(SEARCHED_TEXTS),
    text: z.string().describe('an excerpt of the text around the words'),
    marks: z
      .array(z.tuple([z.int(), z.int()]))
      .describe('positions of the words in the excerpt: start and end, in UTF-16 units'),
  })
  .meta({ id: 'SearchHit' })

export const SEARCH_ROUTES = {
  search: {
    method: 'GET',
    path: '/search',
    summary:
      'Search sessions: one text (title, message, answer, tool call or result) must contain every word, ' +
      'ignoring case and accents; the last word may be a prefix',
    access: 'any',
    alias: true,
    query: z.object({
      q: z.string().max(200).describe('the words'),
      ...page,
      ...SESSION_FILTERS,
    }),
    status: 200,
    answer: z.object({
      results: z.array(z.object({ session: Session, hits: z.array(SearchHit) })),
      next_cursor: z
        .string()
        .nullable()
        .describe('a page may be short or empty although another one follows'),
    }),
  },
  streamSessions: {
    method: 'GET',
    path: '/sessions/stream',
    summary:
      'Stream changes of sessions (Server-Sent Events): `opened` once the stream is live, then each ' +
      'changed session as `session`',
    access: 'any',
    alias: true,
    status: 200,
    stream: true,
  },
} as const satisfies Record<string, Route>
