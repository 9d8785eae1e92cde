/**
 * The client of the session service, for browsers and Node.
 *
 * call    one request of the route table, typed by it
 * events  a session's log, live, across reconnects
 * cursor  the id of the last event returned
 * batch   the events that arrived together, in order
 */
export { createClient } from './checked.ts'
export type { CairnClient } from './client.ts'
export type { ClientOptions } from './source.ts'
export { ApiError, ConnectionError, type ProblemDocument } from './failure.ts'
export type { CallOptions, CallableRoute } from './call.ts'
export type { EventsOptions, WaitOptions } from './events.ts'
export type { InboxChange } from './changes.ts'
export type { SharedItem, SharedOptions, SharedStream } from './shared.ts'
export type { StateDetail, StreamState } from './resume.ts'
export { treeRows, type TreeRow } from './worker-tree.ts'
