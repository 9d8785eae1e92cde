/**
 * The log is the outbox: what people may see goes out behind a cursor, in the order of the log, one part of a
 * conversation at a time. The disclosure goes first, and nothing follows before the platform has taken it.
 */
import { CommitRefused, type ChannelDelivery, type ChannelFence, type DueConversation } from '@cairn/log'
import { AppError, decodeEvent, type EventId } from '@cairn/protocol'
import { disclosureText, presentDisclosure } from '@cairn/sessions'
import type { Part } from './adapter.ts'
import { cutText } from './cut.ts'
import { promptId } from './delivery-key.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import type { Notice } from './notices.ts'
import { type Piece, type Reader, render, VISIBLE } from './render.ts'
import { sendPart, type Sent } from './send-part.ts'

const AT_ONCE = 100
/** A conversation whose disclosure the platform has refused for good is looked at so rarely. */
const BLOCKED_MS = 60_000

/** How long until there may be more to do; null: everything is delivered. */
export async function deliverConversation(
  deps: ChannelDeps,
  connection: Connection,
  fence: ChannelFence,
  conversation: DueConversation,
  signal: AbortSignal,
): Promise<number | null> {
  const { store } = deps
  const { session_id, last_id, running } = conversation
  const blocked = await disclose(deps, connection, fence, conversation, signal)
  if (blocked !== null) return postpone(blocked)
  let through: EventId = conversation.delivered_through
  for (;;) {
    const events = await store.read(session_id, through, AT_ONCE, VISIBLE)
    for (const { id, json } of events) {
      const later = await deliverEvent(deps, connection, fence, conversation, id, json, signal)
      if (later !== null) return postpone(later)
      await store.channels.advance(session_id, id, fence)
      through = id
    }
    if (events.length < AT_ONCE) break
  }
  // Past what nobody sees, once the turn is over: not with every chunk of a running one.
  if (running === 0 && last_id > through) await store.channels.advance(session_id, last_id, fence)
  return null

  async function postpone(ms: number): Promise<number> {
    await store.channels.postpone(session_id, ms, fence)
    return ms
  }
}

/** Null: the disclosure is out and recorded, or none is to be shown. */
async function disclose(
  deps: ChannelDeps,
  connection: Connection,
  fence: ChannelFence,
  { session_id, key, target, language, disclosed_at }: DueConversation,
  signal: AbortSignal,
): Promise<number | null> {
  const { disclosure, agent, model, platform } = connection
  const shown = disclosureText(disclosure, { agent, model, language, hasCommands: true })
  if (shown === null || disclosed_at !== null) return null
  const id = { session_id, event_id: 0, part: 0 }
  const part: Part = {
    type: 'disclosure',
    conversation_key: key,
    target: JSON.parse(target) as Part['target'],
    event_id: 0,
    part: 0,
    text: shown.text,
  }
  const sent = await sendPart(deps, connection, fence, id, part, signal)
  if ('later_ms' in sent) return sent.later_ms
  if (sent.done === 'dead') return BLOCKED_MS
  try {
    await presentDisclosure(deps, session_id, {
      level: disclosure.level,
      channel: platform,
      language: shown.language,
      text: shown.text,
      platform_message_id: sent.message_id,
    })
  } catch (thrown) {
    // Recorded by whoever held the lease before.
    const refused = thrown instanceof AppError ? thrown.cause : thrown
    if (!(refused instanceof CommitRefused) || refused.refusal !== 'already_accepted') throw thrown
  }
  return null
}

async function deliverEvent(
  deps: ChannelDeps,
  connection: Connection,
  fence: ChannelFence,
  conversation: DueConversation,
  event_id: EventId,
  json: string,
  signal: AbortSignal,
): Promise<number | null> {
  const { session_id } = conversation
  const reader = await readerOf(deps, session_id)
  const parts = render(decodeEvent(json), reader).flatMap(piece =>
    cutText(piece.text, connection.adapter.textLimit).map((text, at, all) => ({
      piece: at === all.length - 1 ? piece : { ...piece, ask: undefined },
      text,
    })),
  )
  for (const [part, { piece, text }] of parts.entries()) {
    const id = { session_id, event_id, part }
    const prompt = await ask(deps, id, piece)
    const sent: Sent = await sendPart(
      deps,
      connection,
      fence,
      id,
      {
        type: piece.type,
        conversation_key: conversation.key,
        target: JSON.parse(conversation.target) as Part['target'],
        event_id,
        part,
        text,
        ...(prompt === null ? {} : { prompt }),
      },
      signal,
    )
    if ('later_ms' in sent) return sent.later_ms
    // A text with a hole in it helps nobody: what follows of it is not sent.
    if (sent.done === 'dead') return null
  }
  return null
}

async function readerOf({ store }: ChannelDeps, sessionId: string): Promise<Reader> {
  return { isLinked: (await store.getSession(sessionId))?.created_by_kind === 'user' }
}

/** The prompt that the buttons of a piece name, on disk before they are shown. */
async function ask(
  { store }: ChannelDeps,
  { session_id, event_id }: { session_id: string; event_id: EventId },
  { ask }: { ask?: Piece['ask'] | undefined },
): Promise<NonNullable<Part['prompt']> | null> {
  if (ask === undefined || ask.choices.length === 0) return null
  const id = promptId(session_id, event_id)
  const choices = JSON.stringify(ask.choices)
  await store.channels.putPrompt({ id, session_id, kind: ask.kind, about: ask.about, choices })
  return { id, choices: ask.choices.map((label, at) => ({ value: `${id}:${at}`, label })) }
}

export async function deliverNotice(
  deps: ChannelDeps,
  connection: Connection,
  fence: ChannelFence,
  { session_id, event_id, part, body }: ChannelDelivery,
  signal: AbortSignal,
): Promise<void> {
  const { conversation_key, target, text } = JSON.parse(body ?? '{}') as Notice
  const id = { session_id, event_id, part }
  await sendPart(
    deps,
    connection,
    fence,
    id,
    { type: 'notice', conversation_key, target, part, text },
    signal,
  )
}
