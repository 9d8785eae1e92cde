/** Locates the matches within a session's log, by reading its events. */
import type { EventStore } from '../../store.ts'
import { INDEXED_TYPES, sessionText } from './entries.ts'
import type { Found, Hit } from './row.ts'
import { searchedText } from './texts.ts'
import { excerptOf, holdsAll, type Wanted } from './words.ts'
import type { SessionRow } from '../../session.ts'

/** Per session. */
export const MAX_HITS = 3

/** Events that may match: one, or a range of them. */
export type Span = { from: number; to: number }

/** Null if no text contains all words: the index may cover more than the words of one text. */
export async function findHits(
  logs: Pick<EventStore, 'read'>,
  session: SessionRow,
  spans: readonly Span[],
  wanted: Wanted,
): Promise<Found | null> {
  const hits: Hit[] = []
  for (const { from, to } of spans) {
    if (hits.length >= MAX_HITS) break
    if (from === 0) {
      const text = sessionText(session)
      if (holdsAll(wanted, text)) hits.push({ event_id: 0, in: 'title', ...excerptOf(wanted, text) })
    }
    if (to > 0) await readHits(logs, session.id, { from: Math.max(1, from), to }, wanted, hits)
  }
  return hits.length === 0 ? null : { session, hits }
}

const PAGE = 64

async function readHits(
  logs: Pick<EventStore, 'read'>,
  id: string,
  { from, to }: Span,
  wanted: Wanted,
  hits: Hit[],
): Promise<void> {
  const limit = Math.min(PAGE, to - from + 1)
  for (let after = from - 1; after < to && hits.length < MAX_HITS;) {
    const events = await logs.read(id, after, limit, INDEXED_TYPES)
    for (const event of events) {
      if (event.id > to || hits.length >= MAX_HITS) return
      const { data } = JSON.parse(event.json) as { data: Record<string, unknown> }
      const found = searchedText(event.type, data)
      if (found !== null && holdsAll(wanted, found.text))
        hits.push({ event_id: event.id, in: found.in, ...excerptOf(wanted, found.text) })
    }
    if (events.length < limit) return
    after = events.at(-1)?.id ?? to
  }
}
