/**
 * Forks a session: the new one starts with the conversation of another up to an event (decision 58).
 *
 * Its log has one event for that, which holds the conversation as the model reads it. So nothing that was
 * paid for, decided or started there counts again here, and ids of the other log do not occur in this one.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import { AppError, decodeEvent, EVENT_TYPES, type EventId, type Principal } from '@cairn/protocol'
import {
  type Conversation,
  type ConversationMessage,
  emptyConversation,
  FORK,
  foldConversationInto,
  settledMessages,
} from '@cairn/state'
import { createSession } from './create.ts'
import type { Deps } from './deps.ts'
import { syntheticMessage, TAKES_INPUT } from './events/messages.ts'
import { commitFor } from './refusals.ts'

export type ForkSession = {
  source: SessionRow
  /** The last event to include; 0 for none. */
  event_id: EventId
  /** The configured agents: the source's agent may have been removed. */
  agents: readonly string[]
  principal: Principal
}

const PAGE = 500
/** Folds ignore streaming events. */
const FOLDED = EVENT_TYPES.filter(type => type !== 'llm.delta' && type !== 'llm.heartbeat')

async function conversationUpTo(
  store: LogStore,
  sessionId: string,
  last: EventId,
): Promise<ConversationMessage[]> {
  let conversation: Conversation = emptyConversation
  for (let after: EventId | undefined = 0; after !== undefined && after < last;) {
    const page = await store.events.read(sessionId, after, PAGE, FOLDED)
    for (const { id, json } of page)
      if (id <= last) conversation = foldConversationInto(new WeakSet(), conversation, decodeEvent(json))
    after = page.length < PAGE ? undefined : page.at(-1)?.id
  }
  return settledMessages(conversation)
}

/** Forks roots only: a worker's permissions are restricted by its parents, and a fork has none. */
export async function forkSession(deps: Deps, fork: ForkSession): Promise<SessionRow> {
  const { source, event_id, agents, principal } = fork
  if (source.parent_id !== null)
    throw new AppError('wrong_state', 'A worker cannot be forked: it has the rights of its parent session.')
  if (event_id > source.last_event_id)
    throw new AppError('wrong_target', `Event ${event_id} not found in this session.`)
  const history = await conversationUpTo(deps.store, source.id, event_id)
  const made = await createSession(deps, agents, {
    agent: source.agent,
    // A fork without history gets its title from its own first message (contract 7.13).
    ...(source.title === null || history.length === 0 ? {} : { title: source.title }),
    config: source.config,
    principal,
  })
  if (history.length === 0) return made
  const forked_from = { session_id: source.id, event_id }
  const text = `This session continues from session ${source.id}, up to event ${event_id}.`
  const { session } = await commitFor(deps.store, 'fork', {
    session_id: made.id,
    events: [syntheticMessage(FORK, text, { forked_from, history })],
    expect_status: TAKES_INPUT,
    // Nothing to do: the fork starts idle.
    cursor: 'self',
  })
  return session
}
