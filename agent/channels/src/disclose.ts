/** Sends the disclosure first, and records it in the log when the platform has accepted it. */
import { CommitRefused, type DueConversation } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { deliveryKey, disclosureText, presentDisclosure } from '@cairn/sessions'
import type { OutgoingPart } from './adapter.ts'
import type { Connection } from './deps.ts'
import type { AutomaticReply } from './automatic-replies.ts'
import { type Delivering, LeaseLost, sendPart } from './send-part.ts'

/** Interval between checks of a conversation whose disclosure the platform rejects permanently. */
const BLOCKED_MS = 60_000

export const disclosureOf = (
  { disclosure, agent, model }: Connection,
  language: string | null,
): ReturnType<typeof disclosureText> =>
  disclosureText(disclosure, { agent, model, language, hasCommands: true })

/** Null if the disclosure is sent and recorded, or none is required. */
export async function disclose(
  delivering: Delivering,
  { session_id, key, target, language, disclosed_at }: DueConversation,
): Promise<number | null> {
  const { deps, connection } = delivering
  const shown = disclosureOf(connection, language)
  if (connection.adapter.disclosesInside === true || shown === null || disclosed_at !== null) return null
  const part: OutgoingPart = {
    type: 'disclosure',
    conversation_key: key,
    target: JSON.parse(target) as OutgoingPart['target'],
    event_id: 0,
    part: 0,
    text: shown.text,
  }
  const sent = await sendPart(delivering, { session_id, event_id: 0, part: 0 }, part)
  if ('later_ms' in sent) return sent.later_ms
  if (sent.done === 'dead') return BLOCKED_MS
  await record(deps, connection, session_id, shown, sent.message_id)
  return null
}

/** A disclosure that is part of the next message. */
export type Inside = {
  text: string
  /** Before the part is sent. */
  begin(): Promise<void>
  /** After the part was sent; `wasSent`: by the previous holder of the lease. */
  end(message_id: string | null, wasSent: boolean): Promise<void>
}

/**
 * For platforms where the disclosure is the beginning of the first part. Its row is written before that of
 * the part, so a part found sent included it if the row exists.
 */
export function inside(
  { deps, connection, fence }: Delivering,
  { session_id, language, disclosed_at }: Pick<DueConversation, 'session_id' | 'language' | 'disclosed_at'>,
): Inside | null {
  if (connection.adapter.disclosesInside !== true || disclosed_at !== null) return null
  const shown = disclosureOf(connection, language)
  if (shown === null) return null
  const { channels } = deps.store
  const id = { session_id, event_id: 0, part: 0 }
  return {
    text: shown.text,
    async begin() {
      if (!(await channels.beginDelivery({ ...id, key: deliveryKey(id) }, fence))) throw new LeaseLost()
    },
    async end(message_id, wasSent) {
      if (wasSent && (await channels.delivery(id)) === null) return
      await channels.settleDelivery(id, { state: 'sent', platform_message_id: message_id }, fence)
      await record(deps, connection, session_id, shown, message_id)
    },
  }
}

async function record(
  deps: Delivering['deps'],
  connection: Connection,
  sessionId: string,
  { text, language }: NonNullable<ReturnType<typeof disclosureOf>>,
  platform_message_id: string | null,
): Promise<void> {
  try {
    await presentDisclosure(deps, sessionId, {
      level: connection.disclosure.level,
      channel: connection.platform,
      language,
      text,
      platform_message_id,
    })
  } catch (error) {
    // The previous holder of the lease recorded it.
    const refused = error instanceof AppError ? error.cause : error
    if (!(refused instanceof CommitRefused) || refused.refusal !== 'already_accepted') throw error
  }
}

/**
 * The disclosure that must precede an automatic reply: none if its conversation has seen it or the reply is
 * the disclosure.
 */
export async function undisclosed(
  { deps, connection }: Delivering,
  { conversation_key, language, text }: AutomaticReply,
): Promise<string | null> {
  const standing = await deps.store.channels.conversation(connection.id, conversation_key)
  if (standing !== null && standing.disclosed_at !== null) return null
  const shown = disclosureOf(connection, language ?? standing?.language ?? null)
  return shown === null || shown.text === text ? null : shown.text
}
