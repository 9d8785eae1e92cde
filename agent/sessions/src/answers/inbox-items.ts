/**
 * People's answers in the inbox (contract 7, 10): decisions, completed actions, and acknowledgements of
 * notes. inbox/create-item.ts creates the items.
 */
import { type EventWithRows, type RowChange, withRows } from '@cairn/log'
import {
  AppError,
  type EventData,
  type InboxItem,
  type InboxKind,
  type Principal,
  deciderKeys,
} from '@cairn/protocol'
import { TASK_BLOCKED } from '@cairn/state'
import { findInboxItem, shownItem, type StoredInboxItem } from '../access.ts'
import { answerQuestion } from './questions.ts'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { syntheticMessage, TAKES_INPUT } from '../events/messages.ts'
import { deciderOf } from '../principal-stamp.ts'
import { proposalOf } from '../inbox/proposals.ts'
import { EXCERPT_MAX } from '../inbox/create-item.ts'
import { SCHEDULE_PAUSED } from '../schedules/notifications.ts'
import { resumeSchedule } from '../schedule-commands/commands.ts'
import { answeredBefore, commitFor } from '../refusals.ts'
import { findTask, unblockTask } from '../tasks/commands.ts'

/** An approval that is not used within this time expires. */
export const GRANT_TTL_MS = 60 * 60 * 1000

export type InboxAnswer = (
  | { decision: 'approve' | 'reject'; shown_hash?: string | undefined; reason?: string | undefined }
  | { completed: true; note?: string | undefined }
  | { responses: readonly { question: string; answer: string }[] }
) & {
  /** Recorded by the event of the answer, so that a repeated request finds it. */
  request_key?: string | undefined
}

/** Decides a gate or completes an action, once: guard, grant and the message for the model are one commit. */
export async function respondInbox(
  deps: Deps,
  itemId: string,
  answer: InboxAnswer,
  principal: Principal,
  /** Rows changed in the same commit. */
  rows: readonly RowChange[] = [],
): Promise<InboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  if ('responses' in answer) {
    if (item.kind !== 'input_required') throw wrongKind(item, 'responses', 'input_required')
    const { tool_call_id } = item.payload as EventData<'inbox.input_required'>
    const { session_id } = item
    const { responses, ...key } = answer
    await answerQuestion(deps, { session_id, tool_call_id, responses, principal, rows, ...key })
    return reread(deps, item.id)
  }
  const { decision, message } =
    'decision' in answer ? decide(deps, item, answer, principal) : completeAction(item, answer)
  if (item.status !== 'pending') throw answeredBefore(item)
  if ('decision' in answer) refuseUnseen(item, answer)
  const row: RowChange = {
    do: 'inbox.answer',
    id: item.id,
    decision,
    status: 'responded',
    decided_by: deciderOf(principal),
  }
  const task_id = targetOf(item, TASK_BLOCKED)
  if (task_id !== null && 'completed' in answer) {
    const task = await findTask(deps.store, principal, task_id)
    await unblockTask(deps, task, answer.note ?? 'The user marked this as resolved.', principal, [
      ...rows,
      row,
    ])
    return reread(deps, item.id)
  }
  const schedule_id = targetOf(item, SCHEDULE_PAUSED)
  if (schedule_id !== null && 'completed' in answer) {
    await resumeSchedule(deps, schedule_id, [row])
    return reread(deps, item.id)
  }
  await commitFor(deps.store, 'answer an inbox item of', {
    session_id: item.session_id,
    expect_status: TAKES_INPUT,
    ...(message === null ? { events: [] } : { reopen: sessionResumed('inbox'), events: [message] }),
    rows: [...rows, row],
  })
  return reread(deps, item.id)
}

/** The target of an action of this type, such as the task that it asks about; null for any other item. */
function targetOf({ kind, payload }: StoredInboxItem, type: string): string | null {
  if (kind !== 'action_required') return null
  const { action_type, target } = payload as EventData<'inbox.action_required'>
  return action_type === type ? target : null
}

/**
 * An approval covers the complete arguments. A client that states what it showed must have shown those; and
 * an item that cannot show them, because an older release stored only a part, cannot be approved.
 */
function refuseUnseen(
  item: StoredInboxItem,
  { decision, shown_hash }: Extract<InboxAnswer, { decision: string }>,
): void {
  if (item.kind !== 'governance_gate') return
  const gate = item.payload as EventData<'inbox.governance_gate'>
  if (shown_hash !== undefined && shown_hash !== gate.shown_hash)
    throw new AppError(
      'not_what_was_shown',
      'Wrong shown_hash: it must match the arguments of this item. Read the item again and show ' +
        'its arguments.',
    )
  if (decision === 'approve' && gate.arguments === undefined && gate.arguments_excerpt.length >= EXCERPT_MAX)
    throw new AppError(
      'wrong_state',
      'This item was created by an older release and shows only part of its arguments: reject ' +
        'it, and the agent will ask again.',
    )
}

type Decided = {
  decision: string
  /** Null if the agent gets no message and is not woken. */
  message: EventWithRows<'user.message'> | null
}

const decide = (
  deps: Deps,
  item: StoredInboxItem,
  answer: Extract<InboxAnswer, { decision: string }>,
  principal: Principal,
): Decided =>
  proposalOf(item) === null
    ? decideGate(deps, item, answer, principal)
    : { decision: answer.decision, message: null }

function decideGate(
  { now }: Deps,
  item: StoredInboxItem,
  { decision, reason, request_key }: Extract<InboxAnswer, { decision: string }>,
  principal: Principal,
): Decided {
  if (item.kind !== 'governance_gate') throw wrongKind(item, 'decision', 'governance_gate')
  const { tool_name: tool, tool_call_id, run_id } = item.payload as EventData<'inbox.governance_gate'>
  const about = {
    inbox_item_id: item.id,
    tool_call_id,
    ...(run_id === undefined ? {} : { run_id }),
    ...(request_key === undefined ? {} : { request_key }),
    metadata: { decision, ...deciderKeys(principal) },
  }
  const who = principal.kind === 'user' ? 'A person' : 'A service account'
  if (decision === 'reject') {
    return {
      decision,
      message: syntheticMessage(
        'governance_decision',
        `[Decision] ${who} rejected the call of ${tool} (${tool_call_id}). ` +
          'Do not repeat it; continue without it or say what is ' +
          `missing.${reason === undefined ? '' : ` Reason: ${reason}`}`,
        about,
      ),
    }
  }
  const arguments_hash = item.private['arguments_hash']
  if (arguments_hash === undefined)
    throw new Error(`[respondInbox] gate ${item.id} was created without the hash of its arguments`)
  const message = syntheticMessage(
    'governance_decision',
    `[Decision] ${who} approved the call of ${tool} (${tool_call_id}). Make that call again with ` +
      'exactly the same arguments: the approval is valid for one call within the next hour.',
    about,
  )
  const grant = {
    do: 'grant.add',
    // An item is decided once, so its id also identifies the grant: the repeated call finds the item by it.
    id: item.id,
    tool,
    arguments_hash,
    granted_by: deciderOf(principal),
    expires_at: now() + GRANT_TTL_MS,
  } as const
  return { decision, message: withRows(message, grant) }
}

function completeAction(
  item: StoredInboxItem,
  { note, request_key }: Extract<InboxAnswer, { completed: true }>,
): Decided {
  if (item.kind !== 'action_required') throw wrongKind(item, 'completed', 'action_required')
  if (proposalOf(item) !== null)
    throw new AppError(
      'wrong_target',
      '{completed} marks an action as done. Answer a proposal with {decision}: approve or reject.',
    )
  const { title } = item.payload as EventData<'inbox.action_required'>
  const said = note === undefined ? '' : `${note}\n`
  return {
    decision: 'completed',
    message: syntheticMessage('action_completed', `[Done] ${said}The user says that this is done: ${title}`, {
      inbox_item_id: item.id,
      ...(request_key === undefined ? {} : { request_key }),
    }),
  }
}

/** Kinds that only inform. */
const INFORMS: readonly InboxKind[] = ['task_complete', 'progress_checkin']

/** Acknowledges an item that only informs. */
export async function acknowledgeInbox(deps: Deps, itemId: string, principal: Principal): Promise<InboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  if (!INFORMS.includes(item.kind))
    throw new AppError(
      'wrong_target',
      `An item of kind ${item.kind} needs an answer: only ${INFORMS.join(' and ')} can be acknowledged.`,
    )
  if (item.status !== 'pending') throw answeredBefore(item)
  await commitFor(deps.store, 'acknowledge an inbox item of', {
    session_id: item.session_id,
    events: [],
    rows: [
      {
        do: 'inbox.answer',
        id: item.id,
        decision: 'acknowledged',
        status: 'acknowledged',
        decided_by: deciderOf(principal),
      },
    ],
  })
  return reread(deps, item.id)
}

/** Takes an acknowledgement back, also one of another person: it decided nothing. */
export async function unacknowledgeInbox(
  deps: Deps,
  itemId: string,
  principal: Principal,
): Promise<InboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  if (!INFORMS.includes(item.kind))
    throw new AppError(
      'wrong_target',
      `The decision on an item of kind ${item.kind} is final: only an acknowledgement can be taken back.`,
    )
  if (item.status === 'pending') return shownItem(item)
  await commitFor(deps.store, 'reopen an inbox item of', {
    session_id: item.session_id,
    events: [],
    rows: [{ do: 'inbox.reopen', id: item.id }],
  })
  return reread(deps, item.id)
}

async function reread({ store }: Deps, itemId: string): Promise<InboxItem> {
  const item = await store.inbox.get(itemId)
  if (!item) throw new Error(`[inbox] item ${itemId} disappeared within its own commit`)
  return shownItem(item)
}

const wrongKind = (item: StoredInboxItem, key: string, kind: InboxKind): AppError =>
  new AppError(
    'wrong_target',
    `{${key}} answers an item of kind ${kind}, but this item is ` +
      `${item.kind}.${item.kind === 'input_required' ? ` ${howToAnswer(item)}` : ''}`,
  )
function howToAnswer({ session_id, payload }: StoredInboxItem): string {
  const { tool_call_id } = payload as EventData<'inbox.input_required'>
  return (
    'Answer the question with {responses: [{question, answer}]}, here or at ' +
    `/v1/sessions/${session_id}/questions/${tool_call_id}/respond.`
  )
}
