/**
 * The contract of Cairn Agent.
 *
 * session    one conversation and everything that happens in it
 * log        a session's events in commit order
 * draft      an event that has no id yet
 * turn       from a wake to its summary
 * principal  the caller: a user or a service account
 * event      one typed, immutable record of a session's log
 * cursor     the id of the last event a reader has seen
 * producer   the one module that may write a type
 * iteration  one model call and the tool calls it asks for
 * wake       a runner claimed the session and started
 */
export * from './events.ts'
export * from './record.ts'
export * from './event-text.ts'
export * from './facts.ts'
export * from './words.ts'
export * from './artifacts.ts'
export * from './resources.ts'
export * from './config.ts'
export type { BrowserView } from './browser-routes.ts'
export * from './channel-config.ts'
export { channelForms, composeChannel, secretName } from './channel-forms.ts'
export type { ImapServer, SmtpServer } from './email-config.ts'
export * from './goals.ts'
export * from './missions.ts'
export * from './research.ts'
export * from './routes.ts'
export * from './route-table.ts'
export { waitsFor } from './waits-for.ts'
export {
  type NextTime,
  type ScheduleChangeInput,
  type ScheduleRunView,
  type ScheduleView,
  type ScheduleInput,
} from './schedules.ts'
export { limitBody, limitResponse } from './limit-body.ts'
export { CODE_PERMISSIONS, TOOL_NAMES } from './tool-names.ts'
export { findPattern } from './tool-patterns.ts'
export * from './visible-text.ts'
export { checkedState, checkMove, type CheckedState } from './checked-state.ts'
export { MAX_DEPTH, nestsTooDeep } from './nesting.ts'
export { clip, cutAt } from './text.ts'
export { errorWithHeaders, HEADERS, tooManyRequests } from './error-headers.ts'
