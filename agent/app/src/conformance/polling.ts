/** Reads a log by polling. */
import { expectEqual } from './expectations.ts'
import type { Probe } from './probe.ts'

/** Both bounds included. */
export const upTo = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)
type Polled = { ids: number[]; records: string[]; text: string; has_more: boolean; last_id: number }

export async function poll(probe: Probe, id: string, query: string): Promise<Polled> {
  const { status, text, json } = await probe.call(`/v1/sessions/${id}/events/poll?${query}`)
  expectEqual(`poll with ${query}`, status, 200)
  const events = json['events'] as { id: number }[]
  return {
    ids: events.map(event => event.id),
    records: events.map(event => JSON.stringify(event)),
    text,
    has_more: json['has_more'] as boolean,
    last_id: Number(json['last_id']),
  }
}
