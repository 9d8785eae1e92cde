/** What was said in a thread before somebody called us into it: it goes with the message that did. */
import type { ChannelConversation, SessionRow } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { type Failure, type Inbound, SendFailed } from './adapter.ts'
import type { ChannelDeps, Connection } from './deps.ts'

const ASK_MS = 15_000
/** Another attempt would be answered alike: a permission that the bot lacks, say. */
const FOR_GOOD: readonly Failure[] = ['permanent', 'unauthorized', 'bad_format', 'gone']

type Called = {
  inbound: Inbound
  conversation: ChannelConversation
  session: SessionRow
  /** The message is taken without it rather than not at all. */
  isLast: boolean
}

/** Null: nothing was said, or it is not the first message. Throws while what was said may still come. */
export async function threadContext(
  { store, report }: ChannelDeps,
  { adapter, name }: Connection,
  { inbound, conversation, session, isLast }: Called,
): Promise<string | null> {
  if (conversation.generation > 0 || (await store.lastEvents([session.id])).has(session.id)) return null
  try {
    return (await adapter.threadBefore?.(inbound, AbortSignal.timeout(ASK_MS))) ?? null
  } catch (thrown) {
    const isForGood = thrown instanceof SendFailed && FOR_GOOD.includes(thrown.failure)
    if (!isLast && !isForGood) throw thrown
    report('warn', 'what was said before in a thread could not be read', {
      connection: name,
      error: asError(thrown).message,
    })
    return null
  }
}
