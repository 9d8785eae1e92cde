/**
 * What the agent raises to a human, and what the human answers (contract 14.11, 4, 7, 10). The writer of the
 * five inbox.* events. Each `raise…` gives a draft that brings the row of its item.
 */
import { type Draft, type SessionRow, withRows } from '@cairn/log'
import {
  AppError,
  clip,
  type EventData,
  type EventDraft,
  type EventType,
  type InboxItem,
  type InboxKind,
  type Principal,
  type SkillProposal,
  deciderKeys,
  writer,
} from '@cairn/protocol'
import { findInboxItem, shownItem, type StoredInboxItem } from './access.ts'
import type { Deps } from './deps.ts'
import { resumed } from './lifecycle-events.ts'
import { syntheticMessage, TAKES_INPUT } from './messages.ts'
import { deciderOf } from './principal-stamp.ts'
import { proposalOf, SKILL_PROPOSAL } from './proposals.ts'
import { commitFor, tellAnswered } from './refusals.ts'

const write = writer('inbox')
type InboxEvent = Extract<EventType, `inbox.${string}`>

export type Raised = { draft: Draft<InboxEvent>; item_id: string }
/** Where the item's id comes from. */
type Ids = Pick<Deps, 'newId'>

const TITLE_MAX = 120
const EXCERPT_MAX = 500
const BODY_MAX = 1000
/** How long an approval may wait to be used. */
export const GRANT_TTL_MS = 60 * 60 * 1000

function raise<T extends InboxEvent>(
  { newId }: Ids,
  type: T,
  data: EventData<T>,
  shown: { title: string; body: string | null; tool_call_id?: string; private?: Record<string, string> },
): Raised {
  const id = newId()
  const item = {
    id,
    kind: type.slice('inbox.'.length) as InboxKind,
    title: clip(shown.title, TITLE_MAX),
    body: shown.body === null ? null : clip(shown.body, BODY_MAX),
    // Items do not expire: a question or a gate waits for its human, however long that takes.
    payload: data as Record<string, unknown>,
    expires_at: null,
    tool_call_id: shown.tool_call_id ?? null,
    ...(shown.private ? { private: shown.private } : {}),
  }
  return { draft: withRows(write(type, data), { do: 'inbox.open', item }), item_id: id }
}

/**
 * An overridable denial. `arguments_hash` is what an approval will cover: effective arguments, before any
 * masking; it is kept out of sight.
 */
export const raiseGate = (
  ids: Ids,
  gate: EventData<'inbox.governance_gate'> & { arguments_hash: string },
): Raised => {
  const { arguments_hash, ...data } = gate
  return raise(
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

/**
 * The same call made again before anybody decided: told once more in the log, with no second item to answer.
 */
export const repeatGate = (
  gate: EventData<'inbox.governance_gate'> & { repeats_tool_call_id: string },
): EventDraft =>
  write('inbox.governance_gate', { ...gate, arguments_excerpt: clip(gate.arguments_excerpt, EXCERPT_MAX) })

/** The call whose undecided item covers a call of that tool with those arguments, or null. */
export async function findOpenGate(
  store: Deps['store'],
  { id, org_id }: Pick<SessionRow, 'id' | 'org_id'>,
  tool: string,
  arguments_hash: string,
): Promise<string | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.listInbox({
      org_id,
      session_id: id,
      kind: ['governance_gate'],
      status: ['pending'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id: item, payload } of page.items) {
      const gate = payload as EventData<'inbox.governance_gate'>
      // The hash is kept out of what is listed.
      if (
        gate.tool_name === tool &&
        (await store.getInboxItem(item))?.private['arguments_hash'] === arguments_hash
      )
        return gate.tool_call_id
    }
    cursor = page.next_cursor
  }
  return null
}

/** An ask_user_question prompt; answered through messages.ts. */
export const raiseQuestion = (ids: Ids, data: EventData<'inbox.input_required'>): Raised =>
  raise(ids, 'inbox.input_required', data, {
    title: data.questions[0]?.prompt ?? 'Question',
    body: data.context ?? null,
    tool_call_id: data.tool_call_id,
  })

/** Something that only a human can do outside. */
export const raiseAction = (ids: Ids, data: EventData<'inbox.action_required'>): Raised =>
  raise(ids, 'inbox.action_required', data, {
    title: data.title,
    body: data.instructions,
    ...(data.tool_call_id === undefined ? {} : { tool_call_id: data.tool_call_id }),
  })

export const raiseTaskComplete = (ids: Ids, data: EventData<'inbox.task_complete'>): Raised =>
  raise(ids, 'inbox.task_complete', data, {
    title: data.session_title ?? 'Task complete',
    body: data.summary,
  })

/** A skill that the user accepts or rejects. Nothing waits for it. */
export const raiseSkillProposal = (ids: Ids, proposal: SkillProposal): Raised =>
  raise(
    ids,
    'inbox.action_required',
    {
      title: `Proposed skill: ${proposal.name}`,
      instructions: proposal.description,
      context: 'Accepted, it is offered to your agents and runs as a slash command.',
      action_type: SKILL_PROPOSAL,
      target: proposal.name,
      reason: 'A look back over the session found a procedure worth keeping.',
      proposal,
    },
    { title: `Proposed skill: ${proposal.name}`, body: proposal.description },
  )

type ReviewEnd = EventData<'inbox.task_complete'> & { review_wake_id: number }

/** The end of a background review that has news: it is put into the inbox. */
export const raiseReviewEnd = (ids: Ids, data: ReviewEnd): Raised =>
  raise(ids, 'inbox.task_complete', data, { title: 'Looked back over the session', body: data.summary })

/** The end of one without: it is in the log. */
export const recordReviewEnd = (data: ReviewEnd): EventDraft => write('inbox.task_complete', data)

export const raiseProgress = (ids: Ids, data: EventData<'inbox.progress_checkin'>): Raised =>
  raise(ids, 'inbox.progress_checkin', data, {
    title: `Progress: ${data.iterations} iterations, ${Math.round(data.elapsed_seconds / 60)} min`,
    body: data.progress_summary,
  })

/** Check-ins of a session that nobody has acknowledged; the next one makes them old news. */
export async function openCheckIns(
  store: Deps['store'],
  { id, org_id }: Pick<SessionRow, 'id' | 'org_id'>,
): Promise<string[]> {
  const { items } = await store.listInbox({
    org_id,
    session_id: id,
    kind: ['progress_checkin'],
    status: ['pending'],
    limit: 100,
  })
  return items.map(item => item.id)
}

export type InboxAnswer =
  { decision: 'approve' | 'reject'; shown_hash?: string | undefined } | { completed: true }

/**
 * Decides a gate or completes an action, once: guard, grant and the message that tells the model go into one
 * commit.
 */
export async function respondInbox(
  deps: Deps,
  itemId: string,
  answer: InboxAnswer,
  principal: Principal,
): Promise<InboxItem> {
  const item = await findInboxItem(deps.store, principal, itemId)
  const { decision, message } =
    'decision' in answer ? decide(deps, item, answer.decision, principal) : completeAction(item)
  if (item.status !== 'pending') throw answeredBefore(item)
  if ('decision' in answer) refuseUnseen(item, answer)
  await commitFor(deps.store, 'answer an inbox item of', {
    session_id: item.session_id,
    expect_status: TAKES_INPUT,
    ...(message === null ? { events: [] } : { reopen: resumed('inbox'), events: [message] }),
    rows: [
      { do: 'inbox.answer', id: item.id, decision, status: 'responded', decided_by: deciderOf(principal) },
    ],
  })
  return reread(deps, item.id)
}

/**
 * An approval covers the whole arguments. A client that says what it has shown must have shown those; and an
 * item that cannot show them, one of an older release that kept a part, is not approved.
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
      'shown_hash is not that of the arguments which this item covers: read the item again and show ' +
        'its arguments.',
    )
  if (decision === 'approve' && gate.arguments === undefined && gate.arguments_excerpt.length >= EXCERPT_MAX)
    throw new AppError(
      'wrong_state',
      'This item was raised by an older release and shows a part of its arguments only: reject it, and ' +
        'the agent asks anew.',
    )
}

type Decided = {
  decision: string
  /** Null: the agent is told nothing, and nothing wakes. */
  message: Draft<'user.message'> | null
}

const decide = (
  deps: Deps,
  item: StoredInboxItem,
  decision: 'approve' | 'reject',
  principal: Principal,
): Decided =>
  proposalOf(item) === null ? decideGate(deps, item, decision, principal) : { decision, message: null }

function decideGate(
  { newId, now }: Deps,
  item: StoredInboxItem,
  decision: 'approve' | 'reject',
  principal: Principal,
): Decided {
  if (item.kind !== 'governance_gate') throw wrongKind(item, 'decision', 'governance_gate')
  const { tool_name: tool, tool_call_id } = item.payload as EventData<'inbox.governance_gate'>
  const about = {
    inbox_item_id: item.id,
    tool_call_id,
    metadata: { decision, ...deciderKeys(principal) },
  }
  const who = principal.kind === 'user' ? 'A person' : 'A service account'
  if (decision === 'reject') {
    return {
      decision,
      message: syntheticMessage(
        'governance_decision',
        `[Decision] ${who} rejected the call of ${tool} (${tool_call_id}). Do not repeat it; go on ` +
          'without it or say what is missing.',
        about,
      ),
    }
  }
  const arguments_hash = item.private['arguments_hash']
  if (arguments_hash === undefined)
    throw new Error(`[respondInbox] gate ${item.id} was raised without the hash of its arguments`)
  const message = syntheticMessage(
    'governance_decision',
    `[Decision] ${who} approved the call of ${tool} (${tool_call_id}). Make that call again with ` +
      'exactly the same arguments: the approval covers it once, within the hour.',
    about,
  )
  const grant = {
    do: 'grant.add',
    id: newId(),
    tool,
    arguments_hash,
    granted_by: deciderOf(principal),
    expires_at: now() + GRANT_TTL_MS,
  } as const
  return { decision, message: withRows(message, grant) }
}

function completeAction(item: StoredInboxItem): Decided {
  if (item.kind !== 'action_required') throw wrongKind(item, 'completed', 'action_required')
  if (proposalOf(item) !== null)
    throw new AppError(
      'wrong_target',
      '{completed} says that an action is done; a proposal is answered with {decision}: approve or reject.',
    )
  const { title } = item.payload as EventData<'inbox.action_required'>
  return {
    decision: 'completed',
    message: syntheticMessage('action_completed', `[Done] The user says that this is done: ${title}`, {
      inbox_item_id: item.id,
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
      `An item of kind ${item.kind} asks for an answer; only ${INFORMS.join(' and ')} are acknowledged.`,
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

/** Marks an item read; its status stays. */
export async function readInbox({ store }: Deps, itemId: string, principal: Principal): Promise<InboxItem> {
  const item = await findInboxItem(store, principal, itemId)
  return (await store.markRead(item.id)) ?? shownItem(item)
}

async function reread({ store }: Deps, itemId: string): Promise<InboxItem> {
  const item = await store.getInboxItem(itemId)
  if (!item) throw new Error(`[inbox] item ${itemId} vanished within its own commit`)
  return shownItem(item)
}

const wrongKind = (item: StoredInboxItem, key: string, kind: InboxKind): AppError =>
  new AppError(
    'wrong_target',
    `{${key}} answers an item of kind ${kind}; this one is ` +
      `${item.kind}${item.kind === 'input_required' ? ', answered at its question' : ''}.`,
  )
const answeredBefore = (item: StoredInboxItem): AppError =>
  new AppError('already_answered', tellAnswered(item), {
    extra: { decision: item.decision, item_status: item.status },
  })
