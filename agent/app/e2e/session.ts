/** Operations on a session for tests. */
import type { CairnClient } from '@cairn/client'
import type { EventOf, EventType, SessionEvent } from '@cairn/protocol'

/** Maximum wait for any step on a slow and busy machine. A test passes by what happens, not by how fast. */
export const PATIENCE_MS = 120_000

export const isType =
  <T extends EventType>(type: T) =>
  (event: SessionEvent): event is EventOf<T> & SessionEvent =>
    event.type === type

/** Whether the event ends a turn, in any way. */
export const endsTurn = (event: SessionEvent): boolean =>
  event.type === 'session.complete' || event.type === 'session.fail' || event.type === 'session.stopped'

/** Sends a message and returns the id of its event. */
export const say = async (client: CairnClient, id: string, content: string): Promise<number> =>
  (await client.call('sendMessage', { params: { id }, body: { content } })).event_id

export const newSession = async (client: CairnClient): Promise<string> =>
  (await client.call('createSession', { body: {} })).id

/** Waits for an event after a cursor. */
export const waitFor = <E extends SessionEvent>(
  client: CairnClient,
  id: string,
  after: number,
  predicate: ((event: SessionEvent) => event is E) | ((event: SessionEvent) => boolean),
): Promise<E> => client.waitFor<E>(id, predicate, { after, signal: AbortSignal.timeout(PATIENCE_MS) })

/** Sends a message and returns all events of its turn. */
export async function runTurn(client: CairnClient, id: string, content: string): Promise<SessionEvent[]> {
  const after = await say(client, id, content)
  const end = await waitFor(client, id, after, endsTurn)
  return (await readLog(client, id)).filter(event => event.id >= after && event.id <= end.id)
}

/** Reads the whole log by polling. */
export async function readLog(client: CairnClient, id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (;;) {
    const page = await client.call('pollEvents', {
      params: { id },
      query: { after: events.at(-1)?.id ?? 0, limit: 1000 },
    })
    events.push(...(page.events as unknown as SessionEvent[]))
    if (!page.has_more) return events
  }
}
