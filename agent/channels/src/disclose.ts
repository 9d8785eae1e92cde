/** The disclosure goes first; it is recorded in the log when the platform has taken it. */
import { CommitRefused, type DueConversation } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { disclosureText, presentDisclosure } from '@cairn/sessions'
import type { Part } from './adapter.ts'
import type { Connection } from './deps.ts'
import type { Notice } from './notices.ts'
import { type Delivering, sendPart } from './send-part.ts'

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
  if (shown === null || disclosed_at !== null) return null
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
  try {
    await presentDisclosure(deps, session_id, {
      level: connection.disclosure.level,
      channel: connection.platform,
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
