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
export * from './events/index.ts'
export * from './events/record.ts'
export * from './events/event-text.ts'
export * from './events/lookups.ts'
export * from './words.ts'
export * from './resources/index.ts'
export * from './config/index.ts'
export type { BrowserView } from './routes/browser.ts'
export * from './config/channels.ts'
export { channelForms, composeChannel, secretName } from './config/channel-forms.ts'
export type { ImapServer, SmtpServer } from './config/email.ts'
export * from './config/research.ts'
export * from './routes/index.ts'
export * from './routes/route-table.ts'
export {
  type NextTime,
  type ScheduleChangeInput,
  type ScheduleRunView,
  type ScheduleView,
  type ScheduleInput,
} from './routes/schedules.ts'
export { limitBody, limitResponse } from './limits/body.ts'
export { CODE_PERMISSIONS, TOOL_NAMES } from './tools/names.ts'
export { findPattern } from './tools/patterns.ts'
export { isBlank } from './text/blank.ts'
export { formatInZone, formatLeft } from './text/time-left.ts'
export * from './text/visible-text.ts'
export { checkedState, checkMove, type CheckedState } from './checked-state.ts'
export { MAX_DEPTH, nestsTooDeep } from './limits/nesting.ts'
export { clip, cutAt } from './text/clip.ts'
export { errorWithHeaders, HEADERS, tooManyRequests } from './errors/error-headers.ts'
