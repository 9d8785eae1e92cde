/** Logs of a session tree as the tests of its rules write them: types and data, with ids in order. */
import type { SessionEvent } from '@cairn/protocol'

/** `at` of the data is the time; without it all events happened at once. */
export type Written = [type: string, data: Record<string, unknown>]

export const log = (...events: Written[]): SessionEvent[] =>
  events.map(([type, data], at) => ({
    id: at + 1,
    type,
    data,
    session_id: 'any',
    created_at: typeof data['at'] === 'string' ? data['at'] : 'at once',
  })) as SessionEvent[]
