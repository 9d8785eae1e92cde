/**
 * The rule by which exchanges begin, from a few types alone: a request finds its exchange without a fold of
 * the whole log. The fold uses the same rule, so both agree on every log.
 */
import { type EventOf, type EventType, isBesideTurns, isEventType, type SessionEvent } from '@cairn/protocol'
import { isServerCommand } from '@cairn/state'

/** Whether a message that arrives now steers a turn; otherwise it begins an exchange. */
export type Boundary = { running: boolean }

/** True for a message of a person or a program: not of the server, and no command to it. */
export const isSaid = ({ data: { synthetic, content } }: EventOf<'user.message'>): boolean =>
  synthetic === undefined && !isServerCommand(content)

/** What runs after an event; undefined: it does not matter. */
const RUNS: { [T in EventType]?: (event: EventOf<T>) => boolean | undefined } = {
  'user.message': event =>
    isSaid(event) || ['governance_decision', 'action_completed'].includes(event.data.synthetic ?? '')
      ? true
      : undefined,
  'llm.request': () => true,
  'ask_user_question.response': () => true,
  'inbox.action_required': ({ data: { proposal, action_type } }) =>
    proposal === undefined && !isBesideTurns(action_type) ? false : undefined,
  'session.complete': () => false,
  'session.stopped': () => false,
  'session.fail': () => false,
  'session.pause': () => false,
  // Only a session that had ended is reopened by a message, which follows.
  'session.resume': ({ data: { source } }) => (source === 'message' ? false : undefined),
}

export const BOUNDARY_TYPES: readonly EventType[] = Object.keys(RUNS).filter(isEventType)

/** Updates the boundary; true if the event begins an exchange. */
export function passBoundary(boundary: Boundary, event: SessionEvent): event is EventOf<'user.message'> {
  const begins =
    event.type === 'user.message' &&
    isSaid(event) &&
    (!boundary.running || (event.data.passes_over ?? []).length > 0)
  const runs = RUNS[event.type] as ((event: SessionEvent) => boolean | undefined) | undefined
  boundary.running = runs?.(event) ?? boundary.running
  return begins
}
