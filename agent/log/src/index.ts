/**
 * The durable log.
 *
 * store   holds logs: events, sessions, inbox, grants, artifacts, accounts
 * cursor  the id of the last event a reader has seen
 * fence   rejects the writes of a runner once a newer lease epoch exists
 * link    connects a child session to its parent
 * task    a piece of a session's work, which may depend on others; an attempt is a child session
 * mission a goal that a session and its children work on in rounds
 * effect  the change that an event makes to its session's row
 * commit  guards, events and rows, all or nothing
 * tail    history from a cursor, then live
 * channel inbound events and deliveries of a messaging platform, beside the log
 * index   words and totals derived from the log, beside it
 * notify  wake a subscriber, which then reads the store again
 */
export * from './store.ts'
export * from './commit.ts'
export * from './refusals.ts'
export * from './session.ts'
export * from './account-store.ts'
export * from './links.ts'
export * from './board.ts'
export type { BrowserChange, BrowserInstance, BrowserStore } from './browsers.ts'
export type {
  ChannelConnection,
  ConnectionFigures,
  ConnectionState,
  ConnectionStore,
  NewConnection,
} from './channel-connections.ts'
export * from './channels.ts'
export * from './channels-beside.ts'
export * from './search/search-store.ts'
export {
  NOTIFICATIONS,
  type NewNotification,
  type InboxNotification,
  type NotificationSettings,
  type NotificationResult,
  type NotificationStore,
  type NotificationMethod,
} from './notifications.ts'
export { repliesOf } from './channel-store.ts'
export {
  type FailedAttempt,
  isTaskOver,
  type NewTask,
  type Task,
  type TaskChange,
  TASK_STATUSES,
  type TaskState,
  type TaskStatus,
} from './tasks.ts'
export type {
  Mission,
  MissionChange,
  MissionDefinition,
  MissionQuery,
  MissionState,
  NewMission,
} from './missions.ts'
export type { CodeRun, CodeRunChange, CodeRunState, NewCodeRun } from './code-runs.ts'
export type { BranchState, NewBranch, NewSource, ResearchBranch, ResearchSource } from './research.ts'
export { type NewSchedule, type ScheduleChange, type ScheduleRun, type StoreSchedule } from './schedules.ts'
export type { ClaimRules } from './fair-claims.ts'
export { DirectoryInUse } from './data-lock.ts'
export { DamagedStore } from './refuse-damaged.ts'
export { describeLoss, type Loss, type PastLoss } from './losses.ts'
export { readLosses } from './read-losses.ts'
export { copyLiveStore } from './live-copy.ts'
export { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts'
export {
  InvalidDatabaseUrl,
  isPostgresUrl,
  parsePostgresUrl,
  type PostgresAddress,
} from './postgres/address.ts'
export { openPostgresStore, type PostgresStoreOptions, type SharedLogStore } from './postgres/open.ts'
export { UnsafeServer } from './postgres/unsafe-server.ts'
export { tail } from './tail.ts'
export { applyEffect, type Effect, effectOf, type Projected } from './projection.ts'
export { createStreamRedactor, type StreamRedactor } from './stream-redactor.ts'
export { createRedactor, REDACTED, type Redact } from './redact.ts'
