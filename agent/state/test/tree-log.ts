/** Logs of a family as the tests of its rules write them: types and data, the ids in their order. */
import type { SessionEvent } from '@cairn/protocol'

/** `at` of the data is when; without it all happened at once. */
export type Written = [type: string, data: Record<string, unknown>]

export const log = (...events: Written[]): SessionEvent[] =>
  events.map(([type, data], at) => ({
    id: at + 1,
    type,
    data,
    session_id: 'any',
    created_at: typeof data['at'] === 'string' ? data['at'] : 'at once',
  })) as SessionEvent[]
