/**
 * Evidence that a person knew they speak with an AI. The writer of disclosure.confirmed; disclosure.presented
 * comes with the channels.
 */
import { type EventId, type Principal, writer } from '@cairn/protocol'
import type { Deps } from './deps.ts'
import { commitFor } from './refusals.ts'

const write = writer('disclosure')

/** A web user accepted the banner of that level. Repeatable: each acceptance is evidence of its own. */
export async function confirmDisclosure(
  { store }: Deps,
  sessionId: string,
  level: string,
  principal: Principal,
): Promise<EventId> {
  const { last_id } = await commitFor(store, 'confirm the disclosure of', {
    session_id: sessionId,
    expect_status: ['active', 'paused', 'completed', 'failed'],
    events: [
      write('disclosure.confirmed', {
        level,
        source: 'web_banner',
        ...(principal.kind === 'user' ? { principal_user_id: principal.id } : {}),
      }),
    ],
  })
  return last_id
}
