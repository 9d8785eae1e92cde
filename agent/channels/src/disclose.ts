/** The disclosure goes first; it is recorded in the log when the platform has taken it. */
import { CommitRefused, type DueConversation } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { deliveryKey, disclosureText, presentDisclosure } from '@cairn/sessions'
import type { Part } from './adapter.ts'
import type { Connection } from './deps.ts'
import type { Notice } from './notices.ts'
import { type Delivering, LeaseLost, sendPart } from './send-part.ts'

/** A conversation whose disclosure the platform has refused for good is looked at so rarely. */
const BLOCKED_MS = 60_000

export const disclosureOf = (
  { disclosure, agent, model }: Connection,
  language: string | null,
): ReturnType<typeof disclosureText> =>
  disclosureText(disclosure, { agent, model, language, hasCommands: true })

/** Null: the disclosure is out and recorded, or none is to be shown. */
export async function disclose(
  delivering: Delivering,
  { session_id, key, target, language, disclosed_at }: DueConversation,
): Promise<number | null> {
  const { deps, connection } = delivering
  const shown = disclosureOf(connection, language)
  if (connection.adapter.disclosesInside === true || shown === null || disclosed_at !== null) return null
  const part: Part = {
    type: 'disclosure',
    conversation_key: key,
    target: JSON.parse(target) as Part['target'],
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

/** The disclosure that the next part begins with, and what is done when that part is out. */
export type Inside = {
  text: string
  /** Before the part is sent. */
  begin(): Promise<void>
  /** After it; `wasSent`: by whoever held the lease before. */
  end(message_id: string | null, wasSent: boolean): Promise<void>
}

/**
 * Where the disclosure is the beginning of the first part. Its row is written before that of the part: a part
 * that is found sent had it inside if the row is there.
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
  } catch (thrown) {
    // Recorded by whoever held the lease before.
    const refused = thrown instanceof AppError ? thrown.cause : thrown
    if (!(refused instanceof CommitRefused) || refused.refusal !== 'already_accepted') throw thrown
  }
}

/** What goes before a notice: the disclosure, unless its conversation has seen it or the notice is it. */
export async function undisclosed(
  { deps, connection }: Delivering,
  { conversation_key, language, text }: Notice,
): Promise<string | null> {
  const standing = await deps.store.channels.conversation(connection.id, conversation_key)
  if (standing !== null && standing.disclosed_at !== null) return null
  const shown = disclosureOf(connection, language ?? standing?.language ?? null)
  return shown === null || shown.text === text ? null : shown.text
}
