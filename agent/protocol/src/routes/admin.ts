/** Administrator routes: the service accounts and users of an organisation. */
import { z } from 'zod'
import type { Route } from './route.ts'
import { USAGE_GROUPS } from '../enums/sessions.ts'

const ServiceAccountView = z
  .object({
    id: z.string(),
    name: z.string(),
    scope: z.enum(['own', 'org']),
    token_prefix: z.string(),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
    last_used_at: z.string().nullable(),
  })
  .meta({ id: 'ServiceAccount' })
const UserView = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    admin: z.boolean(),
    created_at: z.string(),
    disabled_at: z.string().nullable(),
  })
  .meta({ id: 'User' })
const UsageRow = z
  .object({
    day: z.string().describe('in UTC, for example 2026-11-21'),
    name: z.string().describe('name of the agent or model, or id of the user or service account'),
    calls: z.int(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cost_usd: z.number(),
    unpriced_calls: z.int().describe('calls without a known rate: the cost is a lower bound'),
  })
  .meta({ id: 'UsageRow' })

export const ADMIN_ROUTES = {
  usage: {
    method: 'GET',
    path: '/admin/usage',
    summary: 'Get the usage per day and agent, user or model; a few moments behind',
    access: 'admin',
    alias: false,
    query: z.object({
      by: z.enum(USAGE_GROUPS).optional().describe('agent by default'),
      days: z
        .string()
        .regex(/^\d{1,4}$/, 'days must be an integer')
        .transform(Number)
        .optional()
        .describe('number of days before today; 30 by default, at most 366'),
    }),
    status: 200,
    answer: z.object({ rows: z.array(UsageRow) }),
  },
  health: {
    method: 'GET',
    path: '/admin/health',
    summary: 'Get the sandbox, the progress of the search index and the open streams of this process',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({
      version: z.string(),
      ready: z.boolean().describe('true: the service accepts writes'),
      sandbox: z.string(),
      open_streams: z.int(),
      sessions_to_index: z.int().describe('sessions whose newest events are not in the search index yet'),
    }),
  },
  createServiceAccount: {
    method: 'POST',
    path: '/admin/service-accounts',
    summary: 'Create a service account; its token is shown once',
    access: 'admin',
    alias: false,
    creates: true,
    shownOnce: ['token'],
    body: z.strictObject({
      name: z.string().min(1).max(100),
      scope: z.enum(['own', 'org']).default('own'),
      expires_in_days: z.number().positive().optional(),
    }),
    status: 201,
    answer: ServiceAccountView.extend({ token: z.string() }),
  },
  listServiceAccounts: {
    method: 'GET',
    path: '/admin/service-accounts',
    summary: 'List service accounts',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ service_accounts: z.array(ServiceAccountView) }),
  },
  revokeServiceAccount: {
    method: 'DELETE',
    path: '/admin/service-accounts/{account_id}',
    summary: 'Revoke a service account immediately',
    access: 'admin',
    alias: false,
    status: 204,
  },
  createUser: {
    method: 'POST',
    path: '/admin/users',
    errors: ['wrong_state'],
    summary: 'Create a user; the login link is shown once',
    access: 'admin',
    alias: false,
    creates: true,
    shownOnce: ['login_token'],
    body: z.strictObject({
      email: z.email(),
      name: z.string().min(1).max(100),
      admin: z.boolean().default(false),
    }),
    status: 201,
    answer: UserView.extend({ login_token: z.string() }),
  },
  listUsers: {
    method: 'GET',
    path: '/admin/users',
    summary: 'List users',
    access: 'admin',
    alias: false,
    status: 200,
    answer: z.object({ users: z.array(UserView) }),
  },
  createLoginLink: {
    method: 'POST',
    path: '/admin/users/{user_id}/login-links',
    summary: 'Create a login link for a user: it works once, within a day, and is shown once',
    access: 'admin',
    alias: false,
    creates: true,
    shownOnce: ['login_token'],
    status: 201,
    answer: z.object({ login_token: z.string() }),
  },
  disableUser: {
    method: 'DELETE',
    path: '/admin/users/{user_id}',
    summary: 'Disable a user',
    access: 'admin',
    alias: false,
    status: 204,
  },
} as const satisfies Record<string, Route>
