/** The stream of several sessions over one connection. */
import { z } from 'zod'
import { onSession } from './fields.ts'
import type { Route } from './route.ts'

/** Maximum sessions of a shared stream. Keeps the URL below the limit of common proxies (8 KB). */
const SHARED_SESSIONS_MAX = 100
const SessionCursors = z
  .string()
  .transform(text => text.split(','))
  .pipe(
    z
      .array(z.string().regex(/^[^,]+:\d{1,15}$/, 'must be session_id:after, with an integer of 0 or more'))
      .max(SHARED_SESSIONS_MAX, `at most ${SHARED_SESSIONS_MAX} sessions`),
  )
  .transform(entries =>
    entries.map(entry => {
      const colon = entry.lastIndexOf(':')
      return { session_id: entry.slice(0, colon), after: Number(entry.slice(colon + 1)) }
    }),
  )
  .refine(cursors => new Set(cursors.map(({ session_id }) => session_id)).size === cursors.length, {
    message: 'must name each session only once',
  })
  .describe(`at most ${SHARED_SESSIONS_MAX} sessions as session_id:after, separated by commas`)

export const STREAM_ROUTES = {
  streamShared: {
    method: 'GET',
    path: '/stream',
    summary:
      'Stream the logs of several sessions, and changes of sessions and inbox, over one connection ' +
      '(Server-Sent Events)',
    ...onSession,
    query: z.object({
      sessions: SessionCursors.optional(),
      changes: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'true: also send `session`, `snapshot` and `item`, as the streams of sessions and inbox do',
        ),
    }),
    status: 200,
    stream: true,
  },
} as const satisfies Record<string, Route>
