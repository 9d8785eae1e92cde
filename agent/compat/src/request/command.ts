/** The writes of the compatible APIs: each is a command of sessions/ with the caller's principal. */
import type { SessionRow } from '@cairn/log'
import {
  AppError,
  decodeEvent,
  type EventId,
  type EventOf,
  type InboxItem,
  type ON_QUESTION,
  type Principal,
  SendMessage,
} from '@cairn/protocol'
import {
  addMessage,
  createSession,
  findInboxItem,
  requireConfirmed,
  respondInbox,
  stopSession,
} from '@cairn/sessions'
import { isServerCommand } from '@cairn/state'
import { agentNames, type CompatDeps } from '../deps.ts'
import type { CompatOrigin } from './origin.ts'

export type Say = {
  session: Pick<SessionRow, 'id'>
  principal: Principal
  content: string
  images?: EventOf<'user.message'>['data']['images']
  origin: CompatOrigin
  /** What happens to an open question: it expires, or the message is refused. */
  on_question: Exclude<(typeof ON_QUESTION)[number], 'answer'>
}

/** Sends a message; returns its event. */
export async function say(
  deps: CompatDeps,
  { session, principal, content, images, origin, on_question }: Say,
): Promise<EventId> {
  const { level, require_confirm } = deps.config.disclosure
  if (require_confirm && level !== 'none') await requireConfirmed(deps, session.id, principal)
  if (isServerCommand(content))
    throw new AppError(
      'bad_request',
      'Commands to the server, such as /goal and /stop, are not available here: send them to ' +
        `POST /v1/sessions/${session.id}/messages.`,
    )
  const message = SendMessage.safeParse({
    content,
    metadata: { compat: origin },
    ...(images === undefined || images.length === 0 ? {} : { images }),
  })
  if (!message.success) {
    const [issue] = message.error.issues
    throw new AppError(
      'invalid_body',
      `${issue?.path.join('.') ?? 'message'}: ${issue?.message ?? 'invalid'}`,
    )
  }
  const { message_id } = await addMessage(deps, {
    ...message.data,
    session_id: session.id,
    principal,
    on_question,
  })
  return message_id
}

/** The session with this id, created by the first write. */
export async function openSession(
  deps: CompatDeps,
  principal: Principal,
  {
    id,
    ...more
  }: { id: string; channel: string; agent?: string | undefined; config?: Record<string, unknown> },
): Promise<SessionRow> {
  const session = await createSession(deps, agentNames(deps), { ...more, id, principal })
  if (session.created_by !== principal.id || session.org_id !== principal.org_id)
    throw new AppError('not_found', `Session ${id} not found.`)
  return session
}

type Decision = {
  approve: boolean
  reason?: string | undefined
  shown_hash?: string | undefined
  /** Recorded by the event of the decision, so that a repeated request finds it. */
  request_key?: string | undefined
}

/** Decides the approval of a gate, and returns its item. The same decision again is accepted. */
export async function decide(
  deps: CompatDeps,
  principal: Principal,
  { session_id, gate }: { session_id: string; gate: EventId },
  { approve, reason, shown_hash, request_key }: Decision,
): Promise<InboxItem> {
  if (principal.kind === 'service_account' && !deps.config.governance.service_accounts_decide)
    throw new AppError(
      'people_decide',
      'A service account cannot decide this item, because governance.service_accounts_decide is ' +
        'false: a user must decide it.',
    )
  const item = await findItemOf(deps, principal, session_id, gate, ['governance_gate'])
  const decision = approve ? 'approve' : 'reject'
  await once(deps, item, decision, () =>
    respondInbox(
      deps,
      item.id,
      {
        decision,
        ...(reason === undefined ? {} : { reason: reason.slice(0, MAX_REASON) }),
        ...(shown_hash === undefined ? {} : { shown_hash }),
        request_key,
      },
      principal,
    ),
  )
  return item
}
const MAX_REASON = 500

/** What a client returns for a question or an action. */
export type AskOutput =
  | { responses: readonly { question: string; answer: string }[] }
  | { completed: true; note?: string | undefined }

/**
 * Answers a question, or completes an action, and returns its item. A second answer is accepted, and
 * changes nothing.
 */
export async function answer(
  deps: CompatDeps,
  principal: Principal,
  { session_id, ask }: { session_id: string; ask: EventId },
  output: AskOutput & { request_key?: string },
): Promise<InboxItem> {
  const item = await findItemOf(deps, principal, session_id, ask, ['input_required', 'action_required'])
  await once(deps, item, 'responses' in output ? 'answered' : 'completed', () =>
    respondInbox(deps, item.id, output, principal),
  )
  return item
}

export const stop = async (deps: CompatDeps, session_id: string): Promise<boolean> =>
  (await stopSession(deps, session_id)).stopped

/** Runs an answer; one that was given before, by this client or elsewhere, is accepted if it is the same. */
async function once(
  { store }: CompatDeps,
  item: Pick<InboxItem, 'id' | 'status' | 'decision'>,
  decision: string,
  respond: () => Promise<unknown>,
): Promise<void> {
  try {
    await respond()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'already_answered') throw error
    if ((await store.inbox.get(item.id))?.decision !== decision) throw error
  }
}

/** The inbox item that an event of the log created. */
async function findItemOf(
  { store }: CompatDeps,
  principal: Principal,
  session_id: string,
  eventId: EventId,
  kinds: readonly InboxItem['kind'][],
): Promise<InboxItem> {
  const [stored] = await store.events.read(session_id, eventId - 1, 1)
  const event = stored?.id === eventId ? decodeEvent(stored.json) : null
  const kind = kinds.find(each => event?.type === `inbox.${each}`)
  const missing = new AppError('not_found', `Open item ${eventId} not found in session ${session_id}.`)
  if (event === null || kind === undefined) throw missing
  const named = 'item_id' in event.data ? event.data.item_id : undefined
  const id = named ?? (await findBySource({ store }, principal, session_id, eventId, kind))
  if (typeof id !== 'string') throw missing
  const item = await findInboxItem(store, principal, id)
  if (item.session_id !== session_id) throw missing
  return item
}

/** Questions, and logs of older releases, do not name their item. */
async function findBySource(
  { store }: Pick<CompatDeps, 'store'>,
  { org_id }: Principal,
  session_id: string,
  source: EventId,
  kind: InboxItem['kind'],
): Promise<string | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.inbox.list({
      org_id,
      session_id,
      kind: [kind],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const found = page.items.find(({ source_event_id }) => source_event_id === source)
    if (found !== undefined) return found.id
    cursor = page.next_cursor
  }
  return null
}
