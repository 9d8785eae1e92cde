/** Reads a session's existing log, for commands that terminate. */
import type { CairnClient } from '@cairn/client'
import type { SessionEvent } from '@cairn/protocol'

/**
 * Reads up to the event that is last now. It uses the stream, which accepts service accounts as well as
 * users.
 */
export async function* readLog(
  client: CairnClient,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent[]> {
  const { last_event_id } = await client.call('getSession', { params: { id }, signal })
  if (last_event_id === 0) return
  for await (const batch of client.events(id, { signal })) {
    const wanted = batch.filter(event => event.id <= last_event_id)
    if (wanted.length > 0) yield wanted
    if ((batch.at(-1)?.id ?? 0) >= last_event_id) return
  }
  throw signal.reason
}
