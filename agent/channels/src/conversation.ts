/** Which session a message goes to: that of its conversation, or the next generation of it. */
import type { ChannelConversation, InboundRow, SessionRow } from '@cairn/log'
import type { Principal } from '@cairn/protocol'
import { createSession, derivedId } from '@cairn/sessions'
import type { Inbound } from './adapter.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { accountOf, type Speaker } from './speaker.ts'

export type Standing = { conversation: ChannelConversation; session: SessionRow | null }

export async function findStanding(
  { store }: ChannelDeps,
  { id }: Connection,
  key: string,
): Promise<Standing | null> {
  const conversation = await store.channels.conversation(id, key)
  if (conversation === null) return null
  return { conversation, session: await store.getSession(conversation.session_id) }
}

/** The event as one of the conversation that its sender may speak in. */
export async function admit(deps: ChannelDeps, connection: Connection, inbound: Inbound): Promise<Inbound> {
  const { join } = connection.adapter
  if (join === undefined) return inbound
  const standing = await findStanding(deps, connection, inbound.conversation_key)
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

/** A direct chat is its speaker's, everything else the connection's. */
export const ownerOf = (connection: Connection, { source }: Inbound, speaker: Speaker): Principal =>
  source.chat_type === 'dm' ? speaker.principal : accountOf(connection)

/**
 * Whether what comes in now goes on with that session. Not with an archived one, and a direct chat not with
 * that of whoever spoke before an account was linked or unlinked.
 */
export const goesOn = ({ session }: Standing, owner: Principal): boolean =>
  session === null || (session.status !== 'archived' && session.created_by === owner.id)

/** Begins a generation for this inbound row; the same row begins one. */
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
  if (conversation === null) throw new Error(`[beginGeneration] there is no conversation ${key} after all`)
  return conversation
}

/** The session of the conversation, made at its first message; its id is derived, so it is made once. */
export async function ensureSession(
  deps: ChannelDeps,
  { platform, agent }: Connection,
  { session_id }: ChannelConversation,
  principal: Principal,
): Promise<SessionRow> {
  const found = await deps.store.getSession(session_id)
  if (found !== null) return found
  return createSession({ ...deps, newId: () => session_id }, deps.agents, {
    agent,
    channel: platform,
    principal,
  })
}
