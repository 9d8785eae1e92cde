/**
 * Rules over one log: one reply per command, one expansion per message (contract 14.3). Part of
 * `checkHistory`.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

/** Feed it the events of a log in order; it returns the violations of each. */
export function commandRules(): (event: SessionEvent) => string[] {
  const messages = new Set<EventId>()
  const dealtWith = new Set<EventId>()

  function settle(id: EventId): string[] {
    const found = [
      ...(messages.has(id) ? [] : [`${id} is not an earlier message of a user`]),
      ...(dealtWith.has(id) ? [`message ${id} was already processed`] : []),
    ]
    dealtWith.add(id)
    return found
  }
  return event => {
    if (event.type === 'user.message' && event.data.synthetic === undefined) messages.add(event.id)
    if (event.type === 'skill.invoked') return settle(event.data.user_message_id)
    return event.type === 'llm.response' && event.data.command_event_id !== undefined
      ? settle(event.data.command_event_id)
      : []
  }
}
