/**
 * Creates inbox items for people (contract 14.11, 4): the five inbox.* events, each with the row of its item.
 * The only writer of these events.
 */
import { type EventWithRows, withRows } from '@cairn/log'
import {
  clip,
  EVENTS,
  type EventData,
  type EventDraft,
  type EventType,
  type InboxKind,
  type SkillProposal,
  writer,
} from '@cairn/protocol'
import { type BlockedTask, GOAL_BLOCKED, type Goal, TASK_BLOCKED } from '@cairn/state'
import type { Deps } from '../deps.ts'
import { SKILL_PROPOSAL } from './proposals.ts'

const write = writer('inbox')
type InboxEvent = Extract<EventType, `inbox.${string}`>

export type CreatedItem = { event: EventWithRows<InboxEvent>; item_id: string }
/** The source of item ids. */
type Ids = Pick<Deps, 'newId'>

const TITLE_MAX = 120
export const EXCERPT_MAX = 500
const BODY_MAX = 1000
function createInboxItem<T extends InboxEvent>(
  { newId }: Ids,
  type: T,
  data: EventData<T>,
  shown: { title: string; body: string | null; tool_call_id?: string; private?: Record<string, string> },
): CreatedItem {
  const id = newId()
  // A later decision or completion names the item, and readers of the log look for it.
  const logged = EVENTS[type].extra.includes('item_id') ? { ...data, item_id: id } : data
  const item = {
    id,
    kind: type.slice('inbox.'.length) as InboxKind,
    title: clip(shown.title, TITLE_MAX),
    body: shown.body === null ? null : clip(shown.body, BODY_MAX),
    // Items do not expire by time: a question or a gate waits as long as it takes.
    payload: data as Record<string, unknown>,
    expires_at: null,
    tool_call_id: shown.tool_call_id ?? null,
    ...(shown.private ? { private: shown.private } : {}),
  }
  return { event: withRows(write(type, logged), { do: 'inbox.open', item }), item_id: id }
}

/**
 * An overridable denial. `arguments_hash` identifies what an approval will cover, the effective arguments
 * before masking; it is not shown.
 */
export const createGateItem = (
  ids: Ids,
  gate: EventData<'inbox.governance_gate'> & { arguments_hash: string },
): CreatedItem => {
  const { arguments_hash, ...data } = gate
  return createInboxItem(
    ids,
    'inbox.governance_gate',
    { ...data, arguments_excerpt: clip(data.arguments_excerpt, EXCERPT_MAX) },
    {
      title: `Approval needed: ${data.tool_name}`,
      body: data.arguments_excerpt,
      tool_call_id: data.tool_call_id,
      private: { arguments_hash },
    },
  )
}

/** The same call repeated before a decision: recorded in the log, without a second item. */
export const repeatGate = (
  gate: EventData<'inbox.governance_gate'> & { repeats_tool_call_id: string },
): EventDraft =>
  write('inbox.governance_gate', { ...gate, arguments_excerpt: clip(gate.arguments_excerpt, EXCERPT_MAX) })

/** An ask_user_question prompt; answered through answers.ts. */
export const createQuestionItem = (ids: Ids, data: EventData<'inbox.input_required'>): CreatedItem =>
  createInboxItem(ids, 'inbox.input_required', data, {
    title: data.questions[0]?.prompt ?? 'Question',
    body: data.context ?? null,
    tool_call_id: data.tool_call_id,
  })

/** An action that only a person can do outside of the session. */
export const createActionItem = (ids: Ids, data: EventData<'inbox.action_required'>): CreatedItem =>
  createInboxItem(ids, 'inbox.action_required', data, {
    title: data.title,
    body: data.instructions,
    ...(data.tool_call_id === undefined ? {} : { tool_call_id: data.tool_call_id }),
  })

/** Asks a person about a blocked task that the owning session has not answered. */
export const createTaskBlockedItem = (
  ids: Ids,
  { task_id, reason, block_call_id }: BlockedTask,
): CreatedItem =>
  createInboxItem(
    ids,
    'inbox.action_required',
    {
      title: `Task needs an answer: ${clip(reason, TITLE_MAX)}`,
      instructions: reason,
      context: 'Your note is the answer for the worker.',
      action_type: TASK_BLOCKED,
      target: task_id,
      reason,
      tool_call_id: block_call_id,
    },
    { title: `Task needs an answer: ${reason}`, body: reason, tool_call_id: block_call_id },
  )

/** A goal that cannot proceed without a person; the obstacle is quoted from its verdict. */
export function createGoalBlockedItem(ids: Ids, { outcome_id, description, verdicts }: Goal): CreatedItem {
  const title = `Goal blocked: ${description}`
  const reason = verdicts.at(-1)?.explanation ?? ''
  return createInboxItem(
    ids,
    'inbox.action_required',
    {
      title: clip(title, TITLE_MAX),
      instructions: reason,
      context:
        'Mark this as done, with an optional note, to let the agent continue. ' +
        'The goal stays closed until you set it again.',
      action_type: GOAL_BLOCKED,
      target: outcome_id,
      reason: description,
    },
    { title, body: reason },
  )
}

export const createTaskCompleteItem = (ids: Ids, data: EventData<'inbox.task_complete'>): CreatedItem =>
  createInboxItem(ids, 'inbox.task_complete', data, {
    title: data.session_title ?? 'Task complete',
    body: data.summary,
  })

/** A skill that the user accepts or rejects. Nothing waits for it. */
export const createSkillProposalItem = (ids: Ids, proposal: SkillProposal): CreatedItem =>
  createInboxItem(
    ids,
    'inbox.action_required',
    {
      title: `Proposed skill: ${proposal.name}`,
      instructions: proposal.description,
      context: 'If you accept it, your agents can use it, and you can run it as a slash command.',
      action_type: SKILL_PROPOSAL,
      target: proposal.name,
      reason: 'A review of the session found a reusable procedure.',
      proposal,
    },
    { title: `Proposed skill: ${proposal.name}`, body: proposal.description },
  )

type ReviewEnd = EventData<'inbox.task_complete'> & { review_wake_id: number }

/** The end of a background review with findings, which become an inbox item. */
export const createReviewEndItem = (ids: Ids, data: ReviewEnd): CreatedItem =>
  createInboxItem(ids, 'inbox.task_complete', data, { title: 'Session review finished', body: data.summary })

/** The end of a review without findings, which is only logged. */
export const recordReviewEnd = (data: ReviewEnd): EventDraft => write('inbox.task_complete', data)

export const createProgressItem = (ids: Ids, data: EventData<'inbox.progress_checkin'>): CreatedItem =>
  createInboxItem(ids, 'inbox.progress_checkin', data, {
    title: `Progress: ${data.iterations} iterations, ${Math.round(data.elapsed_seconds / 60)} min`,
    body: data.progress_summary,
  })
