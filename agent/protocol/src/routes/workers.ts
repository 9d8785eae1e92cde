/** Routes of the tree below a session. */
import { z } from 'zod'
import { SESSION_STATUSES } from '../enums/sessions.ts'
import { WORKER_STATUSES, WorkerView } from '../resources/index.ts'
import { list, onSession, page } from './fields.ts'
import type { Route } from './route.ts'

const SessionNode = z
  .object({
    id: z.string(),
    parent_id: z.string().nullable(),
    root_id: z.string().describe('as in the session: a scheduled run is the root of its own tree'),
    depth: z.int().describe('as in the session: 0 for a root'),
    agent: z.string(),
    channel: z.string(),
    status: z.enum(SESSION_STATUSES),
    title: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'SessionNode' })

export const WORKER_ROUTES = {
  sessionTree: {
    method: 'GET',
    path: '/sessions/{id}/tree',
    summary: 'Get the whole tree that this session belongs to',
    ...onSession,
    status: 200,
    answer: z.object({ nodes: z.array(SessionNode) }),
  },
  sessionChildren: {
    method: 'GET',
    path: '/sessions/{id}/children',
    summary: 'List direct children',
    ...onSession,
    status: 200,
    answer: z.object({ children: z.array(SessionNode) }),
  },
  sessionWorkers: {
    method: 'GET',
    path: '/sessions/{id}/workers',
    summary: 'List all workers below this session, newest first',
    ...onSession,
    query: z.object({ ...page, status: list(WORKER_STATUSES).optional() }),
    status: 200,
    answer: z.object({ workers: z.array(WorkerView), next_cursor: z.string().nullable() }),
  },
} as const satisfies Record<string, Route>
