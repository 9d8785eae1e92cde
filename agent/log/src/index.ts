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
export * from './resources/accounts/row.ts'
export * from './resources/board/row.ts'
export type { BrowserChange, BrowserInstance, BrowserStore } from './resources/browsers/row.ts'
export type {
  ChannelConnection,
  ConnectionFigures,
  ConnectionState,
  ConnectionStore,
  NewConnection,
} from './resources/channels/connections.ts'
export * from './resources/channels/row.ts'
export { repliesOf } from './resources/channels/store.ts'
export * from './resources/channels/visitors.ts'
export type { CodeRun, CodeRunChange, CodeRunState, NewCodeRun } from './resources/code-runs/row.ts'
export type { Grant } from './resources/grants/row.ts'
export type { InboxQuery, NewInboxItem } from './resources/inbox/row.ts'
export type { Decider } from './resources/inbox/stored-item.ts'
export * from './resources/links/link.ts'
export * from './resources/links/row.ts'
export type {
  Mission,
  MissionChange,
  MissionDefinition,
  MissionQuery,
  MissionState,
  NewMission,
} from './resources/missions/row.ts'
export type { MarkKind, MarkOwner, MarkRow, MarkStore } from './resources/marks/row.ts'
export type { McpAccountKey, McpAccountRow, McpAccountStore } from './resources/mcp-accounts/row.ts'
export type { PushStore } from './resources/push/row.ts'
export type { NewSetting, SettingKey, SettingRow, SettingStore } from './resources/settings/row.ts'
export {
  NOTIFICATIONS,
  type NewNotification,
  type InboxNotification,
  type NotificationSettings,
  type NotificationResult,
  type NotificationStore,
  type NotificationMethod,
} from './resources/notifications/row.ts'
export type {
  BranchState,
  NewBranch,
  NewSource,
  ResearchBranch,
  ResearchSource,
} from './resources/research/row.ts'
export type { NewSchedule, ScheduleChange, ScheduleRun, StoreSchedule } from './resources/schedules/row.ts'
export * from './resources/search/row.ts'
export {
  type FailedAttempt,
  isTaskOver,
  type NewTask,
  type Task,
  type TaskChange,
  TASK_STATUSES,
  type TaskState,
  type TaskStatus,
} from './resources/tasks/row.ts'
export type { Timer, TimerClaim, TimerKind } from './resources/timers/row.ts'
export type { ClaimRules } from './engine/fair-claims.ts'
export { DirectoryInUse } from './sqlite/data-lock.ts'
export { DamagedStore } from './sqlite/refuse-damaged.ts'
export { describeLoss, type Loss, type PastLoss } from './sqlite/losses.ts'
export { readLosses } from './sqlite/read-losses.ts'
export { copyLiveStore } from './sqlite/live-copy.ts'
export { openSqliteStore, type SqliteStoreOptions } from './sqlite/store.ts'
export {
  InvalidDatabaseUrl,
  isPostgresUrl,
  parsePostgresUrl,
  type PostgresAddress,
} from './postgres/address.ts'
export {
  checkPostgresUpgrade,
  openPostgresStore,
  type PostgresStoreOptions,
  type SharedLogStore,
} from './postgres/open.ts'
export { UnsafeServer } from './postgres/unsafe-server.ts'
export { UnsupportedSchema } from './engine/migrations.ts'
export { NoStore } from './engine/no-store.ts'
export type { UpgradePlan } from './engine/upgrade-plan.ts'
export { checkSqliteUpgrade } from './sqlite/upgrade-check.ts'
export { tail } from './tail.ts'
export { type ShapeState, sharesOf } from './resources/search/shape.ts'
export { applyEffect, type Effect, effectOf, type Projected } from './engine/projection.ts'
export { createStreamRedactor, type StreamRedactor } from './engine/stream-redactor.ts'
export { createRedactor, REDACTED, type Redact } from './engine/redact.ts'
