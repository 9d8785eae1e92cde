/** Routes of sessions: their life, messages, events and feedback. */
import { z } from 'zod'
import { ChannelConfig } from '../config/channels.ts'
import { Attachment, Image, SkillOverride, Rubric } from '../events/index.ts'
import { GoalView } from '../resources/goals.ts'
import { Session } from '../resources/index.ts'
import { onSession, page, Cursor, integer, QuestionResponses, said, PINS_FIRST } from './fields.ts'
import { SESSION_FILTERS } from './search.ts'
import type { Route } from './route.ts'

const EventRecord = z
  .object({
    id: z.int().positive(),
    session_id: z.string(),
    type: z.string(),
    created_at: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'EventRecord' })

/** Names that only the service assigns: sessions of platforms, parents and schedules are trusted by name. */
const RESERVED: ReadonlySet<string> = new Set([
  ...ChannelConfig.options.map(({ shape }) => shape.platform.value),
  'worker',
  'scheduled',
])

/** The channel name that a caller supplies; the default is `web`. */
const CallerChannel = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a-z, 0-9, "-" and "_", beginning with a letter, at most 64')
  .refine(name => !RESERVED.has(name), {
    error: ({ input }) => `${JSON.stringify(input)} is reserved for sessions that the service creates itself`,
  })
  .describe(
    'what the session was created through, such as `web` (the default), `cli` or the name of your client; ' +
      `reserved: ${[...RESERVED].join(', ')}`,
  )

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
  history_item: z
    .int()
    .nonnegative()
    .optional()
    .describe('for an imported conversation: the rated answer in `history` of the event, counted from 0'),
})

export const SESSION_ROUTES = {
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
      shape: z.enum(['true', 'false']).optional().describe('true: each session with shape and last_step'),
      pins: PINS_FIRST,
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
} as const satisfies Record<string, Route>
