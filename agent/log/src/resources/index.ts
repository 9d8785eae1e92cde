/**
 * The resources: what the store holds beside sessions and their events. One row each; engine, stores and
 * `doctor` reach a resource through its row alone. The order is that of the problems that `doctor` reports.
 */
import type { AnyChange, Resource, ResourceCheck, Sync } from '../engine/resource.ts'
import type { Redact } from '../engine/redact.ts'
import { accountChanges, type AccountStore, type AnswerChange } from './accounts/row.ts'
import { accountsOnPostgres } from './accounts/postgres.ts'
import { accountsOnSqlite } from './accounts/sqlite.ts'
import { artifactsOnPostgres } from './artifacts/postgres.ts'
import {
  type ArtifactChange,
  artifactChanges,
  type ArtifactReads,
  type EncodedArtifactChange,
} from './artifacts/row.ts'
import { artifactsOnSqlite } from './artifacts/sqlite.ts'
import { boardOnPostgres } from './board/postgres.ts'
import { type BoardChange, boardChanges, type BoardReads } from './board/row.ts'
import { boardOnSqlite } from './board/sqlite.ts'
import { type BrowserChange, browserChanges, browsers, type BrowserStore } from './browsers/row.ts'
import { channelChanges } from './channels/change.ts'
import type { ChannelChange, ChannelStore } from './channels/row.ts'
import { channels } from './channels/store.ts'
import { codeRunsOnPostgres } from './code-runs/postgres.ts'
import { type CodeRunChange, codeRunChanges, type CodeRunReads } from './code-runs/row.ts'
import { codeRunsOnSqlite } from './code-runs/sqlite.ts'
import { grantsOnPostgres } from './grants/postgres.ts'
import { type GrantChange, grantChanges, type GrantReads } from './grants/row.ts'
import { grantsOnSqlite } from './grants/sqlite.ts'
import { inboxCheck } from './inbox/check.ts'
import { inboxOnPostgres } from './inbox/postgres.ts'
import {
  type EncodedInboxChange,
  type InboxChange,
  inboxChanges,
  type InboxReads,
  type InboxWrites,
} from './inbox/row.ts'
import { inboxOnSqlite } from './inbox/sqlite.ts'
import { linkCheck } from './links/check.ts'
import { linksOnPostgres } from './links/postgres.ts'
import { type LinkChange, linkChanges, type LinkReads } from './links/row.ts'
import { linksOnSqlite } from './links/sqlite.ts'
import { marks, type MarkStore } from './marks/row.ts'
import { mcpAccounts, type McpAccountStore } from './mcp-accounts/row.ts'
import { missionsOnPostgres } from './missions/postgres.ts'
import { type MissionChange, missionChanges, type MissionReads } from './missions/row.ts'
import { missionsOnSqlite } from './missions/sqlite.ts'
import { notifications, type NotificationStore } from './notifications/row.ts'
import { push, type PushStore } from './push/row.ts'
import { researchOnPostgres } from './research/postgres.ts'
import { type ResearchChange, researchChanges, type ResearchReads } from './research/row.ts'
import { researchOnSqlite } from './research/sqlite.ts'
import { schedulesOnPostgres } from './schedules/postgres.ts'
import { type ScheduleChange, scheduleChanges, type ScheduleReads } from './schedules/row.ts'
import { schedulesOnSqlite } from './schedules/sqlite.ts'
import { settings, type SettingStore } from './settings/row.ts'
import { taskCheck } from './tasks/check.ts'
import { tasksOnPostgres } from './tasks/postgres.ts'
import { type TaskChange, taskChanges, type TaskReads } from './tasks/row.ts'
import { tasksOnSqlite } from './tasks/sqlite.ts'
import { timerCheck } from './timers/check.ts'
import { timersOnPostgres } from './timers/postgres.ts'
import { type TimerChange, timerChanges, type TimerWrites } from './timers/row.ts'
import { timersOnSqlite } from './timers/sqlite.ts'

/** Checks the parts of a row against the changes and the store of its resource. */
const row = <C extends AnyChange, R extends object, E extends AnyChange = C, W extends object = object>(
  resource: Resource<C, R, E, W>,
): Resource<C, R, E, W> => resource

export const RESOURCES = {
  inbox: row<InboxChange, InboxReads, EncodedInboxChange, InboxWrites>({
    tables: { inbox_items: 'organisation' },
    changes: inboxChanges,
    sqlite: inboxOnSqlite,
    postgres: inboxOnPostgres,
    check: inboxCheck,
  }),
  grants: row<GrantChange, GrantReads>({
    tables: { grants: 'organisation' },
    changes: grantChanges,
    sqlite: grantsOnSqlite,
    postgres: grantsOnPostgres,
  }),
  artifacts: row<ArtifactChange, ArtifactReads, EncodedArtifactChange>({
    tables: { artifacts: 'organisation' },
    changes: artifactChanges,
    sqlite: artifactsOnSqlite,
    postgres: artifactsOnPostgres,
  }),
  links: row<LinkChange, LinkReads>({
    tables: { links: 'organisation', trees: 'organisation' },
    changes: linkChanges,
    sqlite: linksOnSqlite,
    postgres: linksOnPostgres,
    check: linkCheck,
  }),
  tasks: row<TaskChange, TaskReads>({
    tables: { tasks: 'organisation' },
    changes: taskChanges,
    sqlite: tasksOnSqlite,
    postgres: tasksOnPostgres,
    check: taskCheck,
  }),
  timers: row<TimerChange, object, TimerChange, TimerWrites>({
    tables: { timers: 'organisation' },
    changes: timerChanges,
    sqlite: timersOnSqlite,
    postgres: timersOnPostgres,
    check: timerCheck,
  }),
  board: row<BoardChange, BoardReads>({
    tables: { board_notes: 'organisation' },
    changes: boardChanges,
    sqlite: boardOnSqlite,
    postgres: boardOnPostgres,
  }),
  missions: row<MissionChange, MissionReads>({
    tables: { missions: 'organisation' },
    changes: missionChanges,
    sqlite: missionsOnSqlite,
    postgres: missionsOnPostgres,
  }),
  research: row<ResearchChange, ResearchReads>({
    tables: { research_branches: 'organisation', research_sources: 'organisation' },
    changes: researchChanges,
    sqlite: researchOnSqlite,
    postgres: researchOnPostgres,
  }),
  schedules: row<ScheduleChange, ScheduleReads>({
    tables: { schedules: 'organisation', schedule_runs: 'organisation' },
    changes: scheduleChanges,
    sqlite: schedulesOnSqlite,
    postgres: schedulesOnPostgres,
  }),
  codeRuns: row<CodeRunChange, CodeRunReads>({
    tables: { code_runs: 'organisation' },
    changes: codeRunChanges,
    sqlite: codeRunsOnSqlite,
    postgres: codeRunsOnPostgres,
  }),
  browsers: row<BrowserChange, object, BrowserChange, BrowserStore>({
    tables: { browser_instances: 'organisation' },
    changes: browserChanges,
    ...browsers,
  }),
  channels: row<ChannelChange, object, ChannelChange, ChannelStore>({
    tables: {
      channel_connections: 'organisation',
      channel_conversations: 'organisation',
      channel_deliveries: 'organisation',
      channel_identities: 'organisation',
      channel_inbound: 'organisation',
      channel_leases: 'server',
      channel_pairings: 'organisation',
      channel_prompts: 'organisation',
      channel_senders: 'organisation',
      channel_visitors: 'organisation',
    },
    changes: channelChanges,
    ...channels,
  }),
  notifications: row<never, object, never, NotificationStore>({
    tables: { notification_settings: 'organisation', notifications: 'organisation' },
    changes: {},
    ...notifications,
  }),
  push: row<never, object, never, PushStore>({
    tables: { push_keys: 'organisation', push_subscriptions: 'organisation' },
    changes: {},
    ...push,
  }),
  marks: row<never, object, never, MarkStore>({
    tables: { marks: 'organisation' },
    changes: {},
    ...marks,
  }),
  mcpAccounts: row<never, object, never, McpAccountStore>({
    tables: { mcp_accounts: 'organisation', mcp_pending_logins: 'organisation' },
    changes: {},
    ...mcpAccounts,
  }),
  settings: row<never, object, never, SettingStore>({
    tables: { settings: 'organisation', session_agents: 'organisation' },
    changes: {},
    ...settings,
  }),
  accounts: row<AnswerChange, object, AnswerChange, AccountStore>({
    tables: {
      organisations: 'directory',
      users: 'directory',
      service_accounts: 'directory',
      logins: 'directory',
      login_links: 'directory',
      share_links: 'directory',
      idempotent_answers: 'organisation',
    },
    changes: accountChanges,
    sqlite: accountsOnSqlite,
    postgres: accountsOnPostgres,
  }),
}

type Resources = typeof RESOURCES
export type ResourceName = keyof Resources
type Any = Resource<AnyChange, object>
type ChangesOf<R> = R extends Resource<infer C, infer _R, infer _E, infer _W> ? C : never
type EncodedOf<R> = R extends Resource<infer _C, infer _R, infer E, infer _W> ? E : never
type ReadsOf<R> = R extends Resource<infer _C, infer S, infer _E, infer _W> ? S : never
type WritesOf<R> = R extends Resource<infer _C, infer _R, infer _E, infer W> ? W : never

/** A change of a row that an event carries. */
export type EventRow = { [R in ResourceName]: ChangesOf<Resources[R]> }[ResourceName]
/** A change of a row as the stores get it, with texts as JSON, redacted. */
export type EncodedRow = { [R in ResourceName]: EncodedOf<Resources[R]> }[ResourceName]
/** What the store offers for each resource. */
export type ResourceStores = { [R in ResourceName]: ReadsOf<Resources[R]> & WritesOf<Resources[R]> }
/** The reads of the embedded store, which answer at once. */
export type ResourceReaders = { [R in ResourceName]: Sync<ReadsOf<Resources[R]>> }

const resources = Object.entries(RESOURCES) as [ResourceName, Any][]

/** Calls `make` for each resource, keyed by its name. */
export const mapResources = <T>(make: (resource: Any, name: ResourceName) => T): Record<ResourceName, T> =>
  Object.fromEntries(resources.map(([name, resource]) => [name, make(resource, name)])) as Record<
    ResourceName,
    T
  >

/** What all resources have for their changes, keyed by the name of the change. */
export const mergeChanges = <T>(changes: (resource: Any) => Record<string, T>): Record<string, T> =>
  Object.assign({}, ...resources.map(([, resource]) => changes(resource))) as Record<string, T>

const FACTS = mergeChanges(resource => resource.changes)

const factsOf = (name: string) => {
  const facts = FACTS[name]
  if (facts === undefined) throw new Error(`[commit] no resource has a change named ${name}`)
  return facts
}

/** `event` is the index of the event that the row belongs to. */
export function encodeRow(redact: Redact, change: EventRow, event: number): EncodedRow {
  const { redact: redactChange } = factsOf(change.do)
  return (redactChange === undefined ? change : redactChange(change, redact, event)) as EncodedRow
}

/** The trees whose rows a change touches, for their locks. */
export const treesOf = (change: EncodedRow): readonly string[] => factsOf(change.do).trees?.(change) ?? []

/** The queries that the checks of all resources need, and the checks. */
export function createChecks(): { queries: Record<string, string>; checks: ResourceCheck[] } {
  const all = resources.flatMap(([, { check }]) => (check === undefined ? [] : [check]))
  return {
    queries: Object.assign({}, ...all.map(({ rows }) => rows)) as Record<string, string>,
    checks: all.map(({ create }) => create()),
  }
}
