/** Routes for a person's own pins and saved views of the sessions (contract 4.25). */
import { z } from 'zod'
import type { Route } from './route.ts'

const SavedView = z
  .object({
    id: z.string(),
    name: z.string(),
    search: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  })
  .meta({ id: 'SavedView' })
const SessionMarks = z
  .object({
    pins: z.array(z.string()).describe('ids of sessions, last pinned first'),
    views: z.array(SavedView).describe('by name'),
  })
  .meta({ id: 'SessionMarks' })

const route = { access: 'user', alias: false, status: 200, answer: SessionMarks } as const

export const SESSION_MARK_ROUTES = {
  sessionMarks: {
    ...route,
    method: 'GET',
    path: '/session-marks',
    summary: 'Get your pinned sessions and your saved views of the sessions',
  },
  pinSession: {
    ...route,
    method: 'POST',
    path: '/sessions/{id}/pin',
    errors: ['limit_reached'],
    summary: 'Pin a session, for yourself; at most 50',
  },
  unpinSession: {
    ...route,
    method: 'DELETE',
    path: '/sessions/{id}/pin',
    summary: 'Unpin a session',
  },
  saveView: {
    ...route,
    method: 'POST',
    path: '/session-views',
    errors: ['limit_reached'],
    summary: 'Save filters of the sessions under a name, for yourself; a known name is replaced; at most 50',
    body: z.strictObject({
      name: z.string().trim().min(1).max(80),
      search: z
        .record(z.string().max(40), z.union([z.string().max(200), z.number(), z.boolean()]))
        .refine(search => Object.keys(search).length <= 20, 'must have at most 20 keys')
        .describe('keys of the address of the page'),
    }),
  },
  removeView: {
    ...route,
    method: 'DELETE',
    path: '/session-views/{view_id}',
    errors: ['not_found'],
    summary: 'Remove a saved view',
  },
} as const satisfies Record<string, Route>
