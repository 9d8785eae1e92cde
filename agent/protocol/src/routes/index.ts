/**
 * The route table: the server's router, its validation, the OpenAPI document, the reference page and the
 * typed client derive from it (contract 4). User tokens are accepted on `/v1/…` and `/v1/api/…`; tokens of
 * service accounts only on `/v1/api/…`, which serves the routes with `alias: true`.
 */
import type { z } from 'zod'
import { ABOUT_ROUTES } from './about.ts'
import { ADMIN_ROUTES } from './admin.ts'
import { ARTIFACT_ROUTES } from './artifacts.ts'
import { AUTH_ROUTES } from './auth.ts'
import { BROWSER_ROUTES } from './browser.ts'
import { CHANNEL_ROUTES } from './channels.ts'
import { HOME_ROUTES } from './home.ts'
import { IMPORT_ROUTES } from './imports.ts'
import { INBOX_ROUTES, INBOX_ITEM_ROUTES } from './inbox.ts'
import { MCP_ACCOUNT_ROUTES } from './mcp-accounts.ts'
import { MISSION_ROUTES } from './missions.ts'
import { NOTIFICATION_ROUTES } from './notifications.ts'
import { SCHEDULE_ROUTES } from './schedules.ts'
import { SEARCH_ROUTES } from './search.ts'
import { SESSION_ROUTES } from './sessions.ts'
import { SESSION_MARK_ROUTES } from './session-marks.ts'
import { SETTING_ROUTES } from './settings.ts'
import { SHARE_ROUTES } from './shares.ts'
import { SPAN_ROUTES } from './spans.ts'
import { STREAM_ROUTES } from './stream.ts'
import { TASK_ROUTES } from './tasks.ts'
import { WORKER_ROUTES } from './workers.ts'
import { WORKSPACE_ROUTES } from './workspace.ts'
import type { Route } from './route.ts'

export { Cursor } from './fields.ts'
export type { Access, Route } from './route.ts'
export { InboxResponse } from './inbox.ts'
export { ImportPart, MAX_IMPORT_BYTES } from './imports.ts'
export { CreateSession, DefineOutcome, Feedback, ON_QUESTION, SendMessage } from './sessions.ts'

export const ROUTES = {
  ...HOME_ROUTES,
  ...SESSION_ROUTES,
  ...SPAN_ROUTES,
  ...WORKER_ROUTES,
  ...TASK_ROUTES,
  ...MISSION_ROUTES,
  ...ARTIFACT_ROUTES,
  ...WORKSPACE_ROUTES,
  ...INBOX_ROUTES,
  ...STREAM_ROUTES,
  ...INBOX_ITEM_ROUTES,
  ...AUTH_ROUTES,
  ...ABOUT_ROUTES,
  ...SEARCH_ROUTES,
  ...SHARE_ROUTES,
  ...ADMIN_ROUTES,
  ...SCHEDULE_ROUTES,
  ...BROWSER_ROUTES,
  ...CHANNEL_ROUTES,
  ...NOTIFICATION_ROUTES,
  ...MCP_ACCOUNT_ROUTES,
  ...SETTING_ROUTES,
  ...IMPORT_ROUTES,
  ...SESSION_MARK_ROUTES,
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof ROUTES
export type RouteOf<N extends RouteName> = (typeof ROUTES)[N]
export type BodyOf<N extends RouteName> =
  RouteOf<N> extends { body: infer B extends z.ZodType } ? z.input<B> : undefined
export type AnswerOf<N extends RouteName> =
  RouteOf<N> extends { answer: infer A extends z.ZodType } ? z.output<A> : undefined
export type QueryOf<N extends RouteName> =
  RouteOf<N> extends { query: infer Q extends z.ZodType }
    ? Partial<Record<keyof z.input<Q> & string, string | number>>
    : Record<string, never>
/** Parameter names in the braces of a path. */
export type ParamsOf<N extends RouteName> = PathParams<RouteOf<N>['path']>
type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParams<Rest>
  : never
