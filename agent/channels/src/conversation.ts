/** Maps a message to its session: that of its conversation, or of the conversation's next generation. */
import type { ChannelConversation, InboundRow, SessionRow } from '@cairn/log'
import type { Principal } from '@cairn/protocol'
import { createSession, derivedId } from '@cairn/sessions'
import type { Inbound } from './adapter.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { accountOf, type Sender } from './sender.ts'

export type ActiveConversation = { conversation: ChannelConversation; session: SessionRow | null }

export async function findActive(
  { store }: ChannelDeps,
  { id }: Connection,
  key: string,
): Promise<ActiveConversation | null> {
  const conversation = await store.channels.conversation(id, key)
  if (conversation === null) return null
  return { conversation, session: await store.sessions.get(conversation.session_id) }
}

/** Assigns the event to the conversation in which its sender may write. */
export async function admit(deps: ChannelDeps, connection: Connection, inbound: Inbound): Promise<Inbound> {
  const { join } = connection.adapter
  if (join === undefined) return inbound
  const standing = await findActive(deps, connection, inbound.conversation_key)
  if (standing === null) return inbound
  const joined = join(JSON.parse(standing.conversation.target) as Inbound['target'], inbound)
  if (joined !== null) return joined
  const { own_key: conversation_key = inbound.conversation_key } = inbound
  return {
    ...inbound,
    conversation_key,
    source: { ...inbound.source, chat_id: conversation_key },
    target: { ...inbound.target, conversation: conversation_key },
  }
}

/** The sender owns a direct chat; the connection owns every other conversation. */
export const ownerOf = (connection: Connection, { source }: Inbound, sender: Sender): Principal =>
  source.chat_type === 'dm' ? sender.principal : accountOf(connection)

/**
 * True if new messages belong to that session: it is not archived, and the owner of a direct chat has not
 * changed by linking or unlinking an account.
 */
export const mayContinue = ({ session }: ActiveConversation, owner: Principal): boolean =>
  session === null || (session.status !== 'archived' && session.created_by === owner.id)

/** Starts a generation for this inbound row; a retry of the row finds it again. */
export async function beginGeneration(
  { store }: ChannelDeps,
  { id }: Connection,
  row: InboundRow,
  { conversation_key: key, target, language }: Inbound,
): Promise<ChannelConversation> {
  const last = await store.channels.conversation(id, key)
  const generation = (last?.generation ?? -1) + 1
  await store.channels.openConversation({
    session_id: derivedId('channel', id, key, generation),
    connection_id: id,
    key,
    generation,
    opened_by: row.seq,
    target: JSON.stringify(target),
    language: language ?? null,
  })
  const conversation = await store.channels.conversation(id, key)
  if (conversation === null) throw new Error(`[beginGeneration] conversation ${key} not found`)
  return conversation
}

/**
 * The session of the conversation, created at its first message with a derived id, so that it is created
 * once.
 */
export async function ensureSession(
  deps: ChannelDeps,
  { platform, agent }: Connection,
  { session_id }: ChannelConversation,
  principal: Principal,
): Promise<SessionRow> {
  const found = await deps.store.sessions.get(session_id)
  if (found !== null) return found
  // The supervisor ends the connection of an agent that is not configured any more.
  return createSession({ ...deps, newId: () => session_id }, [agent], {
    agent,
    channel: platform,
    principal,
  })
}
