/** Identifies the visitor of a request and their conversation; creates both if needed. */
import { type ChannelVisitor, CommitRefused } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { createSession, derivedId, disclosureText, presentDisclosure } from '@cairn/sessions'
import type { ChannelDeps, Connection } from '../deps.ts'
import { accountOf } from '../sender.ts'
import { hashToken, type Known, newToken, tokenOf, VISITOR_TTL_MS } from './visitor.ts'

export async function visitorFor(
  { store: { channels }, now }: ChannelDeps,
  headers: Headers,
  { id }: Connection,
  known: Known | null,
  /** Called before a visitor is created; throws if there are too many. */
  onNew: () => void,
): Promise<{ visitor: ChannelVisitor; token: string }> {
  const given = tokenOf(headers, id)
  const found = given === null ? null : await channels.visitor(id, hashToken(given))
  // A token whose visitor had another identity, or none, starts a new visitor.
  if (given !== null && found !== null && found.subject === (known?.subject ?? null))
    return { visitor: found, token: given }
  onNew()
  const token = newToken()
  const visitor: ChannelVisitor = {
    token_sha256: hashToken(token),
    connection_id: id,
    subject: known?.subject ?? null,
    name: known?.name ?? null,
    expires_at: now() + VISITOR_TTL_MS,
  }
  await channels.putVisitor(visitor)
  return { visitor, token }
}

export type ShownDisclosure = { level: string; language: string; text: string }
export function disclosureOf(
  { disclosure, agent, model }: Connection,
  language: string | null,
): ShownDisclosure | null {
  const shown = disclosureText(disclosure, { agent, model, language, hasCommands: false })
  return shown === null ? null : { level: disclosure.level, ...shown }
}

/** The id of the current session, or of a new one, whose log starts with the disclosure. */
export async function conversationOf(
  deps: ChannelDeps,
  connection: Connection,
  key: string,
  told: ShownDisclosure | null,
): Promise<string> {
  const { store } = deps
  const last = await store.channels.conversation(connection.id, key)
  const standing = last === null ? null : await store.sessions.get(last.session_id)
  const generation = standing?.status === 'archived' ? (last?.generation ?? 0) + 1 : (last?.generation ?? 0)
  const session_id = derivedId('channel', connection.id, key, generation)
  await store.channels.openConversation({
    session_id,
    connection_id: connection.id,
    key,
    generation,
    opened_by: generation,
    target: '{}',
    language: told?.language ?? null,
  })
  if ((await store.sessions.get(session_id)) === null)
    await createSession({ ...deps, newId: () => session_id }, [connection.agent], {
      agent: connection.agent,
      channel: 'website',
      principal: accountOf(connection),
    })
  if (told !== null) await present(deps, session_id, told)
  return session_id
}

async function present(
  deps: ChannelDeps,
  sessionId: string,
  { level, language, text }: ShownDisclosure,
): Promise<void> {
  const conversation = await deps.store.channels.conversationOf(sessionId)
  if (conversation === null || conversation.disclosed_at !== null) return
  const shown = { level, channel: 'website', language, text, platform_message_id: null }
  try {
    await presentDisclosure(deps, sessionId, shown)
  } catch (error) {
    // Another tab was first.
    const refused = error instanceof AppError ? error.cause : error
    if (!(refused instanceof CommitRefused) || refused.refusal !== 'already_accepted') throw error
  }
}
