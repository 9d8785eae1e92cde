/** Routes of logins. */
import { z } from 'zod'
import { PrincipalView } from '../resources/index.ts'
import type { Route } from './route.ts'

const Tokens = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal('bearer'),
    expires_in: z.int().describe('seconds'),
  })
  .meta({ id: 'Tokens' })

export const AUTH_ROUTES = {
  login: {
    method: 'POST',
    path: '/auth/login',
    errors: ['unauthenticated'],
    summary: 'Log in with a password or a one-time link token; sets the cookie of the web UI if requested',
    access: 'public',
    alias: false,
    body: z.union([
      z.strictObject({ email: z.string(), password: z.string(), cookie: z.boolean().optional() }),
      z.strictObject({ link_token: z.string(), cookie: z.boolean().optional() }),
    ]),
    status: 200,
    answer: Tokens.partial(),
  },
  refresh: {
    method: 'POST',
    path: '/auth/refresh',
    errors: ['unauthenticated'],
    summary:
      'Get a new access token; the refresh token is rotated. Without one in the body, the cookie login is ' +
      'extended and no token is returned',
    access: 'public',
    alias: false,
    body: z.strictObject({ refresh_token: z.string().optional() }),
    status: 200,
    answer: Tokens.partial(),
  },
  logout: {
    method: 'POST',
    path: '/auth/logout',
    errors: ['unauthenticated'],
    summary: 'Revoke this login',
    access: 'user',
    alias: false,
    status: 204,
  },
  me: {
    method: 'GET',
    path: '/auth/me',
    summary: 'Get the current user or service account',
    access: 'any',
    alias: true,
    status: 200,
    answer: PrincipalView,
  },
  changePreferences: {
    method: 'PATCH',
    path: '/auth/preferences',
    summary: 'Change your preferences for the web UI; absent keys stay as they are',
    access: 'user',
    alias: false,
    body: z.strictObject({
      letter_keys: z
        .boolean()
        .optional()
        .describe('whether single letters, digits and signs are keys of the page; true by default'),
    }),
    status: 200,
    answer: PrincipalView,
  },
  setPassword: {
    method: 'POST',
    path: '/auth/password',
    summary: 'Set your password; if you have one, the current password or a login link is required',
    access: 'user',
    alias: false,
    body: z.strictObject({
      password: z.string().min(10).max(200),
      current_password: z.string().max(1000).optional().describe('required if you have a password'),
      link_token: z
        .string()
        .max(200)
        .optional()
        .describe('token of an unused login link, in place of current_password'),
    }),
    status: 204,
  },
} as const satisfies Record<string, Route>
