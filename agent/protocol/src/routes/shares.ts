/** Routes for share links, which give read-only access to one session without a login (contract 4.18). */
import { z } from 'zod'
import type { Route } from './route.ts'

const ShareView = z
  .object({
    id: z.string(),
    created_by: z.string().describe('the user; the link expires with their account'),
    created_at: z.string(),
    expires_at: z.string(),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: 'ShareLink' })

export const SHARE_ROUTES = {
  createShare: {
    method: 'POST',
    path: '/sessions/{id}/shares',
    summary: 'Create a link that gives anyone who has it read-only access to the session; it is shown once',
    access: 'user',
    alias: false,
    creates: true,
    shownOnce: ['token'],
    status: 201,
    answer: ShareView.extend({ token: z.string().describe('the page is /shared#<token>') }),
  },
  listShares: {
    method: 'GET',
    path: '/sessions/{id}/shares',
    summary: 'List the links of a session',
    access: 'user',
    alias: false,
    status: 200,
    answer: z.object({ shares: z.array(ShareView) }),
  },
  revokeShare: {
    method: 'DELETE',
    path: '/sessions/{id}/shares/{share_id}',
    summary: 'Revoke a link immediately',
    access: 'user',
    alias: false,
    status: 204,
  },
  readShared: {
    method: 'POST',
    path: '/shared',
    errors: ['not_found'],
    summary: 'Read a shared session and its chat after a cursor',
    access: 'public',
    alias: false,
    body: z.strictObject({ token: z.string().max(200), after: z.int().nonnegative().default(0) }),
    status: 200,
    answer: z.object({
      session: z.object({ title: z.string().nullable(), agent: z.string(), state: z.string() }),
      events: z.array(
        z.object({
          id: z.int(),
          type: z.string(),
          created_at: z.string(),
          data: z.record(z.string(), z.unknown()),
        }),
      ),
      last_id: z.int().describe('the cursor of the next call'),
      has_more: z.boolean(),
    }),
  },
} as const satisfies Record<string, Route>
