/**
 * The route table: the server's router, its validation, the OpenAPI document, the reference page and the
 * typed client derive from it (contract 4). User tokens are accepted on `/v1/…` and `/v1/api/…`; tokens of
 * service accounts only on `/v1/api/…`, which serves the routes with `alias: true`.
 */
import { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import { Answer, Attachment, Image, Rubric, SkillOverride } from './events.ts'
import { GoalView } from './goals.ts'
import { MISSION_STATUSES } from './mission-words.ts'
import { MissionDetail, MissionView } from './missions.ts'
import { ResearchInput, ResearchView } from './research.ts'
import { SessionBudget } from './config.ts'
import { ArtifactMeta, ArtifactSpec } from './artifacts.ts'
import { ADMIN_ROUTES } from './admin-routes.ts'
import { BROWSER_ROUTES } from './browser-routes.ts'
import { CHANNEL_ROUTES } from './channel-routes.ts'
import { NOTIFICATION_ROUTES } from './notification-routes.ts'
import { SCHEDULE_ROUTES } from './schedules.ts'
import { CallerChannel } from './session-channel.ts'
import { SESSION_STATUSES } from './session-words.ts'
import { SHARE_ROUTES } from './share-routes.ts'
import { list, SEARCH_ROUTES, SESSION_FILTERS } from './search-routes.ts'
import {
  INBOX_KINDS,
  INBOX_STATUSES,
  InboxItem,
  type InboxKind,
  PrincipalView,
  Session,
  BoardView,
  TaskView,
  WORKER_STATUSES,
  WorkerView,
} from './resources.ts'

/**
 * Access to a route: `public` needs no credential; `any` a user or service account; `user` a user; `admin` an
 * administrator.
 */
export type Access = 'public' | 'any' | 'user' | 'admin'
export type Route = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path in OpenAPI style, relative to /v1. */
  path: string
  summary: string
  access: Access
  /** Also served under /v1/api. */
  alias: boolean
  /** The route creates something and honours Idempotency-Key. */
  creates?: true
  /** Response keys that are returned once: they are not stored with the Idempotency-Key. */
  shownOnce?: readonly string[]
  query?: z.ZodType
  body?: z.ZodType
  /**
   * Errors of this route, in addition to those that every route of its kind has (api/src/route-errors.ts).
   */
  errors?: readonly ErrorCode[]
  /** Success status, and the shape of the body (none for 204). `stream` responds with text/event-stream. */
  status: 200 | 201 | 202 | 204
  answer?: z.ZodType
  stream?: true
}

/** Query values arrive as text. All routes ignore unknown query parameters (contract 3.3). */
const integer = (what: string) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, `${what} must be an integer`)
    .transform(Number)
export const Cursor = z
  .string()
  .regex(/^\d{1,15}$/, 'after must be a non-negative integer')
  .transform(Number)
/** Maximum sessions of a shared stream. Keeps the URL below the limit of common proxies (8 KB). */
const SHARED_SESSIONS_MAX = 100
const SessionCursors = z
  .string()
  .transform(text => text.split(','))
  .pipe(
    z
      .array(z.string().regex(/^[^,]+:\d{1,15}$/, 'must be session_id:after, with an integer of 0 or more'))
      .max(SHARED_SESSIONS_MAX, `at most ${SHARED_SESSIONS_MAX} sessions`),
  )
  .transform(entries =>
    entries.map(entry => {
      const colon = entry.lastIndexOf(':')
      return { session_id: entry.slice(0, colon), after: Number(entry.slice(colon + 1)) }
    }),
  )
  .refine(cursors => new Set(cursors.map(({ session_id }) => session_id)).size === cursors.length, {
    message: 'must name each session only once',
  })
  .describe(`at most ${SHARED_SESSIONS_MAX} sessions as session_id:after, separated by commas`)
/** Text with visible content: white space and zero-width characters do not count. */
const said = z.string().regex(/[^\s\u200b-\u200d\u2060]/, 'must not be blank')

const EventRecord = z
  .object({
    id: z.int().positive(),
    session_id: z.string(),
    type: z.string(),
    created_at: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'EventRecord' })
const SessionNode = z
  .object({
    id: z.string(),
    parent_id: z.string().nullable(),
    root_id: z.string().describe('as in the session: a scheduled run is the root of its own tree'),
    depth: z.int().describe('as in the session: 0 for a root'),
    agent: z.string(),
    channel: z.string(),
    status: z.enum(SESSION_STATUSES),
    title: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'SessionNode' })
const FileEntry = z.object({
  path: z.string().describe('relative to the workspace'),
  kind: z.enum(['file', 'dir']),
  size: z.int().optional(),
})
const Tokens = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal('bearer'),
    expires_in: z.int().describe('seconds'),
  })
  .meta({ id: 'Tokens' })
/** Kinds of inbox items, by name or by event type. */
const KIND_FILTER = list([...INBOX_KINDS, ...INBOX_KINDS.map(kind => `inbox.${kind}` as const)]).transform(
  kinds => [...new Set(kinds.map(kind => kind.replace('inbox.', '') as InboxKind))],
)
const page = { limit: integer('limit').optional(), cursor: z.string().optional() }

export const CreateSession = z.strictObject({
  agent: z.string().optional(),
  title: z.string().min(1).max(256).optional(),
  channel: CallerChannel.optional(),
  config: z.record(z.string(), z.unknown()).optional(),
})
export const ON_QUESTION = ['answer', 'pass_over', 'refuse'] as const
export const SendMessage = z.strictObject({
  content: said,
  attachments: z.array(Attachment).max(10).optional(),
  images: z.array(Image).max(5).optional(),
  metadata: z.looseObject({ skill_override: SkillOverride.optional() }).optional(),
  on_question: z
    .enum(ON_QUESTION)
    .optional()
    .describe(
      'what to do if a question of the agent is pending. answer (default): answer it with this text, or ' +
        '409 if it accepts no free text; pass_over: send a new message and expire the question; refuse: 409',
    ),
})
export const DefineOutcome = z.strictObject({
  type: z.literal('user.define_outcome'),
  description: said.trim(),
  rubric: Rubric.extend({ content: said }),
  max_iterations: z.int().min(1).optional(),
})
export const Feedback = z.strictObject({
  rating: z.enum(['up', 'down']),
  withdrawn: z.literal(true).optional().describe('withdraws the earlier rating of this principal'),
  reason: z.string().max(500).optional(),
  rationale: z.string().max(10_000).optional(),
  score: z.number().min(0).max(1).optional(),
  criteria: z.record(z.string(), z.number()).optional(),
})
const QuestionResponses = z
  .array(Answer.omit({ is_other: true }))
  .min(1)
  .max(10)
export const InboxResponse = z.union([
  z.strictObject({
    decision: z.enum(['approve', 'reject']),
    shown_hash: z
      .string()
      .optional()
      .describe('for a gate: the shown_hash of the arguments that the user was shown'),
    reason: said
      .pipe(z.string().max(2000))
      .optional()
      .describe('for a rejected gate: the reason that the agent reads'),
  }),
  z.strictObject({
    completed: z.literal(true),
    note: said
      .pipe(z.string().max(20_000))
      .optional()
      .describe('the text that the agent reads; for a blocked task, its answer'),
  }),
  z.strictObject({
    responses: QuestionResponses.describe('for a question: an answer to each of its prompts'),
  }),
])

const onSession = { access: 'any', alias: true } as const

export const ROUTES = {
  createSession: {
    method: 'POST',
    path: '/sessions',
    errors: ['unknown_agent'],
    summary: 'Create a session',
    ...onSession,
    creates: true,
    body: CreateSession,
    status: 201,
    answer: Session,
  },
  listSessions: {
    method: 'GET',
    path: '/sessions',
    summary: 'List sessions, newest first',
    ...onSession,
    query: z.object({
      ...page,
      ...SESSION_FILTERS,
      text: z
        .string()
        .max(200)
        .optional()
        .describe(
          'words to find in title, agent and id, ignoring case. Results are sorted newest first; a page ' +
            'may be short or empty although another one follows',
        ),
    }),
    status: 200,
    answer: z.object({ sessions: z.array(Session), next_cursor: z.string().nullable() }),
  },
  getSession: {
    method: 'GET',
    path: '/sessions/{id}',
    summary: 'Get a session',
    ...onSession,
    status: 200,
    answer: Session,
  },
  renameSession: {
    method: 'PATCH',
    path: '/sessions/{id}',
    summary: 'Rename a session; emits session.title_updated',
    ...onSession,
    body: z.strictObject({ title: z.string().trim().min(1).max(256) }),
    status: 200,
    answer: Session,
  },
  archiveSession: {
    method: 'DELETE',
    path: '/sessions/{id}',
    summary: 'Archive a session and its children',
    ...onSession,
    status: 204,
  },
  restoreSession: {
    method: 'POST',
    path: '/sessions/{id}/restore',
    summary: 'Restore an archived session, idle and without the files of its workspace',
    ...onSession,
    status: 200,
    answer: Session,
  },
  forkSession: {
    method: 'POST',
    path: '/sessions/{id}/fork',
    errors: ['limit_reached', 'wrong_target'],
    summary: 'Create a session that starts with the conversation of this one, up to an event',
    ...onSession,
    creates: true,
    body: z.strictObject({
      event_id: z.int().nonnegative().describe('the last event to include; 0: an empty conversation'),
    }),
    status: 201,
    answer: Session,
  },
  sendMessage: {
    method: 'POST',
    path: '/sessions/{id}/messages',
    errors: ['question_open', 'disclosure_required'],
    summary: 'Send a user message; it starts a turn, or the running turn reads it',
    ...onSession,
    creates: true,
    body: SendMessage,
    status: 202,
    answer: z.object({
      event_id: z.int(),
      session_id: z.string(),
      taken_as: z.enum(['message', 'answer']).describe('answer: it answered the pending question'),
    }),
  },
  streamEvents: {
    method: 'GET',
    path: '/sessions/{id}/events',
    errors: ['invalid_cursor', 'cursor_lost'],
    summary: 'Stream the log after a cursor (Server-Sent Events)',
    ...onSession,
    query: z.object({ after: Cursor.optional() }),
    status: 200,
    stream: true,
  },
  pollEvents: {
    method: 'GET',
    path: '/sessions/{id}/events/poll',
    errors: ['invalid_cursor', 'cursor_lost'],
    summary: 'Get the log after a cursor as JSON; user tokens only',
    access: 'user',
    alias: false,
    query: z.object({ after: Cursor.optional(), limit: integer('limit').optional() }),
    status: 200,
    answer: z.object({ events: z.array(EventRecord), has_more: z.boolean(), last_id: z.int() }),
  },
  postEvents: {
    method: 'POST',
    path: '/sessions/{id}/events',
    summary: 'Define goals, all or none',
    ...onSession,
    creates: true,
    body: z.strictObject({ events: z.array(DefineOutcome).min(1).max(10) }),
    status: 202,
    answer: z.object({
      events: z.array(
        z.object({
          type: z.literal('user.define_outcome'),
          event_id: z.int(),
          outcome_id: z.string(),
          processed_at: z.string(),
        }),
      ),
    }),
  },
  getGoal: {
    method: 'GET',
    path: '/sessions/{id}/goal',
    summary: 'Get the last goal with its verdicts; null if there is none or it was cleared',
    ...onSession,
    status: 200,
    answer: z.object({ goal: GoalView.nullable() }),
  },
  pauseSession: {
    method: 'POST',
    path: '/sessions/{id}/pause',
    summary: 'Pause the session and all its open workers; a running turn stops immediately',
    ...onSession,
    status: 200,
    answer: Session,
  },
  resumeSession: {
    method: 'POST',
    path: '/sessions/{id}/resume',
    summary: 'Resume a paused session and the workers that were paused with it',
    ...onSession,
    status: 200,
    answer: Session,
  },
  retrySession: {
    method: 'POST',
    path: '/sessions/{id}/retry',
    summary: 'Retry a failed or paused session',
    ...onSession,
    status: 200,
    answer: Session,
  },
  stopSession: {
    method: 'POST',
    path: '/sessions/{id}/stop',
    summary: 'Abort the running turn and end all open workers; the session stays active',
    ...onSession,
    status: 200,
    answer: Session.extend({
      stopped: z.boolean().describe('false: nothing was running, and no event was written'),
    }),
  },
  giveFeedback: {
    method: 'POST',
    path: '/sessions/{id}/events/{event_id}/feedback',
    errors: ['invalid_cursor', 'wrong_target'],
    summary: 'Rate an llm.response or expert.result',
    ...onSession,
    creates: true,
    body: Feedback,
    status: 201,
    answer: z.object({ event_id: z.int(), event_type: z.string(), source: z.enum(['user', 'judge']) }),
  },
  answerQuestion: {
    method: 'POST',
    path: '/sessions/{id}/questions/{tool_call_id}/respond',
    errors: ['already_answered'],
    summary: 'Answer an ask_user_question prompt',
    ...onSession,
    creates: true,
    body: z.strictObject({
      responses: QuestionResponses,
    }),
    status: 201,
    answer: z.object({ event_id: z.int() }),
  },
  confirmDisclosure: {
    method: 'POST',
    path: '/sessions/{id}/confirm-disclosure',
    summary: 'Accept the AI disclosure',
    access: 'user',
    alias: false,
    status: 204,
  },
  sessionTree: {
    method: 'GET',
    path: '/sessions/{id}/tree',
    summary: 'Get the whole tree that this session belongs to',
    ...onSession,
    status: 200,
    answer: z.object({ nodes: z.array(SessionNode) }),
  },
  sessionChildren: {
    method: 'GET',
    path: '/sessions/{id}/children',
    summary: 'List direct children',
    ...onSession,
    status: 200,
    answer: z.object({ children: z.array(SessionNode) }),
  },
  sessionWorkers: {
    method: 'GET',
    path: '/sessions/{id}/workers',
    summary: 'List all workers below this session, newest first',
    ...onSession,
    query: z.object({ ...page, status: list(WORKER_STATUSES).optional() }),
    status: 200,
    answer: z.object({ workers: z.array(WorkerView), next_cursor: z.string().nullable() }),
  },
  listTasks: {
    method: 'GET',
    path: '/sessions/{id}/tasks',
    summary: 'List the tasks of the session, oldest first',
    ...onSession,
    status: 200,
    answer: z.object({ tasks: z.array(TaskView) }),
  },
  getBoard: {
    method: 'GET',
    path: '/sessions/{id}/board',
    summary: 'Get the board of the session tree: all notes that have not expired',
    ...onSession,
    status: 200,
    answer: BoardView,
  },
  unblockTask: {
    method: 'POST',
    path: '/tasks/{task_id}/unblock',
    errors: ['already_answered'],
    summary: 'Answer a blocked task: its worker continues with the answer. The first answer counts',
    ...onSession,
    body: z.strictObject({ answer: said.pipe(z.string().max(20_000)) }),
    status: 200,
    answer: TaskView,
  },
  cancelTask: {
    method: 'POST',
    path: '/tasks/{task_id}/cancel',
    errors: ['already_answered'],
    summary: 'Cancel a task that has not ended, and all tasks that depend on it',
    ...onSession,
    body: z.strictObject({ reason: said.pipe(z.string().max(500)).optional() }),
    status: 200,
    answer: TaskView,
  },
  createMission: {
    method: 'POST',
    path: '/missions',
    errors: ['not_found', 'wrong_state', 'unknown_agent'],
    summary:
      'Give a session a mission: it works in rounds, alone or with workers, until an evaluator is ' +
      'satisfied. Without session_id, a session is created for it',
    access: 'any',
    alias: true,
    creates: true,
    body: z.strictObject({
      session_id: z.string().optional().describe('a session without a parent, a goal or another mission'),
      agent: z.string().optional().describe('agent of the session that is created'),
      description: said.pipe(z.string().max(20_000)),
      rubric: Rubric.describe('the criteria by which the evaluator grades each round'),
      max_iterations: z.int().min(1).optional().describe('max rounds; values above 20 become 20'),
      budget: SessionBudget.optional().describe('for the coordinator and its descendants, from now on'),
      research: ResearchInput.optional().describe(
        'makes it a research mission, whose work is done by branches',
      ),
    }),
    status: 201,
    answer: MissionDetail,
  },
  listMissions: {
    method: 'GET',
    path: '/missions',
    summary: 'List missions, newest first',
    access: 'any',
    alias: true,
    query: z.object({
      ...page,
      status: list(MISSION_STATUSES).optional(),
      session_id: z.string().optional(),
    }),
    status: 200,
    answer: z.object({ missions: z.array(MissionView), next_cursor: z.string().nullable() }),
  },
  getMission: {
    method: 'GET',
    path: '/missions/{mission_id}',
    summary: 'Get a mission with its verdicts',
    ...onSession,
    status: 200,
    answer: MissionDetail,
  },
  missionTasks: {
    method: 'GET',
    path: '/missions/{mission_id}/tasks',
    summary: 'List the tasks of its coordinator, oldest first',
    ...onSession,
    status: 200,
    answer: z.object({ tasks: z.array(TaskView) }),
  },
  missionWorkers: {
    method: 'GET',
    path: '/missions/{mission_id}/workers',
    summary: 'List all workers below its coordinator, newest first',
    ...onSession,
    query: z.object({ ...page, status: list(WORKER_STATUSES).optional() }),
    status: 200,
    answer: z.object({ workers: z.array(WorkerView), next_cursor: z.string().nullable() }),
  },
  missionResearch: {
    method: 'GET',
    path: '/missions/{mission_id}/research',
    summary: 'Get the state of a research mission, its branches with their scores, and its sources',
    ...onSession,
    status: 200,
    answer: ResearchView,
  },
  pauseMission: {
    method: 'POST',
    path: '/missions/{mission_id}/pause',
    summary: 'Pause an active mission and its workers: the running turn stops, a running evaluation is kept',
    ...onSession,
    body: z.strictObject({ reason: said.pipe(z.string().max(500)).optional() }),
    status: 200,
    answer: MissionDetail,
  },
  resumeMission: {
    method: 'POST',
    path: '/missions/{mission_id}/resume',
    summary: 'Resume a mission that is paused or blocked; its coordinator reads the note',
    ...onSession,
    body: z.strictObject({ note: said.pipe(z.string().max(20_000)).optional() }),
    status: 200,
    answer: MissionDetail,
  },
  cancelMission: {
    method: 'POST',
    path: '/missions/{mission_id}/cancel',
    summary: 'Cancel a mission that has not ended, and its workers unless cascade_to_workers is false',
    ...onSession,
    body: z.strictObject({
      reason: said.pipe(z.string().max(500)).optional(),
      cascade_to_workers: z.boolean().default(true),
    }),
    status: 200,
    answer: MissionDetail,
  },
  listArtifacts: {
    method: 'GET',
    path: '/sessions/{id}/artifacts',
    summary: 'List artifacts, oldest first',
    ...onSession,
    status: 200,
    answer: z.object({ artifacts: z.array(ArtifactMeta) }),
  },
  getArtifact: {
    method: 'GET',
    path: '/sessions/{id}/artifacts/{artifact_id}',
    summary: 'Get an artifact with its body',
    ...onSession,
    status: 200,
    answer: z.object({ meta: ArtifactMeta, spec: ArtifactSpec }),
  },
  workspaceTree: {
    method: 'GET',
    path: '/sessions/{id}/workspace/tree',
    summary: 'List the files of the workspace',
    ...onSession,
    status: 200,
    answer: z.object({ entries: z.array(FileEntry), truncated: z.boolean() }),
  },
  workspaceFile: {
    method: 'GET',
    path: '/sessions/{id}/workspace/file',
    errors: ['wrong_target'],
    summary: 'Get a file of the workspace',
    ...onSession,
    query: z.object({ path: z.string().min(1) }),
    status: 200,
    answer: z.object({
      path: z.string(),
      size: z.int(),
      encoding: z.enum(['utf-8', 'base64']),
      content: z.string(),
      truncated: z.boolean(),
    }),
  },
  putWorkspaceFile: {
    method: 'POST',
    path: '/sessions/{id}/workspace/file',
    errors: ['wrong_target'],
    summary: 'Upload a file to the workspace, to attach it to a message',
    ...onSession,
    creates: true,
    body: z.strictObject({
      filename: z.string().min(1).max(200).describe('name of the file, which is stored below uploads/'),
      content: z.base64().describe('its bytes'),
      mime_type: z.string().max(200).optional(),
    }),
    status: 201,
    answer: Attachment,
  },
  workspaceCheckpoint: {
    method: 'GET',
    path: '/sessions/{id}/workspace/checkpoints/{hash}',
    summary: 'Get the files as they were before a call changed them (checkpoint_hash of its tool.call)',
    ...onSession,
    status: 200,
    answer: z.object({
      files: z.array(
        z.object({
          path: z.string(),
          existed: z.boolean(),
          size: z.int(),
          content: z.string().nullable().describe('its text; null if it is not text, or too long'),
        }),
      ),
    }),
  },
  listInbox: {
    method: 'GET',
    path: '/inbox',
    summary: 'List inbox items, newest first',
    ...onSession,
    query: z.object({
      ...page,
      status: list(INBOX_STATUSES).optional(),
      kind: KIND_FILTER.optional().describe(
        'kinds of items, or the types of their events: inbox.governance_gate',
      ),
      session_id: z.string().optional(),
      descendants: z
        .enum(['true', 'false'])
        .optional()
        .describe('true, with session_id: also items of all workers below that session'),
    }),
    status: 200,
    answer: z.object({ items: z.array(InboxItem), next_cursor: z.string().nullable() }),
  },
  streamInbox: {
    method: 'GET',
    path: '/inbox/stream',
    summary: 'Stream inbox changes (Server-Sent Events): `snapshot`, then `item`',
    ...onSession,
    status: 200,
    stream: true,
  },
  streamShared: {
    method: 'GET',
    path: '/stream',
    summary:
      'Stream the logs of several sessions, and changes of sessions and inbox, over one connection ' +
      '(Server-Sent Events)',
    ...onSession,
    query: z.object({
      sessions: SessionCursors.optional(),
      changes: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'true: also send `session`, `snapshot` and `item`, as the streams of sessions and inbox do',
        ),
    }),
    status: 200,
    stream: true,
  },
  getInboxItem: {
    method: 'GET',
    path: '/inbox/{item_id}',
    summary: 'Get an inbox item',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
  respondInbox: {
    method: 'POST',
    path: '/inbox/{item_id}/respond',
    errors: ['already_answered', 'wrong_target', 'people_decide', 'not_what_was_shown'],
    summary: 'Decide a gate, complete an action or answer a question',
    ...onSession,
    body: InboxResponse,
    status: 200,
    answer: InboxItem,
  },
  readInboxItem: {
    method: 'POST',
    path: '/inbox/{item_id}/read',
    summary: 'Mark an inbox item as read',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
  ackInboxItem: {
    method: 'POST',
    path: '/inbox/{item_id}/ack',
    errors: ['already_answered', 'wrong_target'],
    summary: 'Acknowledge an informational item',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
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
  about: {
    method: 'GET',
    path: '/about',
    summary: 'Get agents, skills, the disclosure, whether the demo model is in use, and the sandbox',
    access: 'any',
    alias: true,
    status: 200,
    answer: z.object({
      version: z.string(),
      agents: z.array(z.object({ name: z.string(), model: z.string() })),
      models: z.array(z.string()).describe('models that config.model of a new session may name'),
      skills: z
        .array(z.object({ name: z.string(), description: z.string() }))
        .describe('skills that a message can invoke as /<name>'),
      demo: z.boolean(),
      share_days: z.int().describe('days after which a share link expires; 0: no share links'),
      disclosure: z.object({ level: z.string(), text: z.string().nullable() }),
      sandbox: z
        .object({
          terminal: z.enum(['boxed', 'unboxed', 'not_offered', 'on_workers']),
          network: z
            .enum(['none', 'proxy', 'open'])
            .nullable()
            .describe('what a command can reach on the network'),
          summary: z.string().describe('description for people'),
        })
        .describe('isolation of terminal commands'),
    }),
  },
  ...SEARCH_ROUTES,
  ...SHARE_ROUTES,
  ...ADMIN_ROUTES,
  ...SCHEDULE_ROUTES,
  ...BROWSER_ROUTES,
  ...CHANNEL_ROUTES,
  ...NOTIFICATION_ROUTES,
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
