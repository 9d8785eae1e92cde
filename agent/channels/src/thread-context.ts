/** What was said in a thread before the bot was mentioned; passed on with the message that mentions it. */
import type { ChannelConversation, SessionRow } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { type Failure, type Inbound, SendFailed } from './adapter.ts'
import type { ChannelDeps, Connection } from './deps.ts'

const ASK_MS = 15_000
/** Failures that a retry would repeat, for example a missing permission of the bot. */
const FOR_GOOD: readonly Failure[] = ['permanent', 'unauthorized', 'bad_format', 'gone']

type Called = {
  inbound: Inbound
  conversation: ChannelConversation
  session: SessionRow
  /** Accept the message without the context rather than not at all. */
  isLast: boolean
}

/**
 * Null if there is nothing before, or it is not the first message. Throws while the context may still become
 * available.
 */
export async function threadContext(
  { store, report }: ChannelDeps,
  { adapter, name }: Connection,
  { inbound, conversation, session, isLast }: Called,
): Promise<string | null> {
  if (conversation.generation > 0 || (await store.lastEvents([session.id])).has(session.id)) return null
  try {
    return (await adapter.threadBefore?.(inbound, AbortSignal.timeout(ASK_MS))) ?? null
  } catch (error) {
    const isForGood = error instanceof SendFailed && FOR_GOOD.includes(error.failure)
    if (!isLast && !isForGood) throw error
    report('warn', 'failed to read earlier messages of a thread', {
      connection: name,
      error: asError(error).message,
    })
    return null
  }
}
