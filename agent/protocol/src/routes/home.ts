/** The first page: what needs the reader, what is running, what failed, the spend and what is next. */
import { z } from 'zod'
import { ERROR_CATEGORIES } from '../events/shapes.ts'
import { InboxItem, Session } from '../resources/index.ts'
import type { Route } from './route.ts'

const count = z.int().nonnegative()

export const HOME_ROUTES = {
  home: {
    method: 'GET',
    path: '/home',
    summary:
      'Get what needs a decision, what is running, what failed, the recent sessions, the spend of seven ' +
      'days and the next scheduled runs; only sessions without a parent',
    access: 'any',
    alias: true,
    status: 200,
    answer: z.object({
      needs: z.object({
        count: count.describe('at most 100'),
        items: z.array(InboxItem).describe('newest first'),
      }),
      running: z.object({ count, sessions: z.array(Session) }),
      failed: z.object({
        count,
        sessions: z.array(
          z.object({
            session: Session,
            category: z.enum(ERROR_CATEGORIES).nullable(),
            error: z.string().nullable().describe('shortened'),
          }),
        ),
      }),
      recent: z.array(Session).describe('last changed first, without those above'),
      spend: z.object({
        today_usd: z.number(),
        unpriced: z.boolean().describe('a call of today had no known rate: today_usd is a lower bound'),
        days: z
          .array(z.object({ day: z.string().describe('in UTC'), cost_usd: z.number() }))
          .describe('seven days, oldest first, today last'),
      }),
      next: z
        .array(z.object({ schedule_id: z.string(), name: z.string(), at: z.string() }))
        .describe('the next scheduled runs, soonest first'),
    }),
  },
} as const satisfies Record<string, Route>
