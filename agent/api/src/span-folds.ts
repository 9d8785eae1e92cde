/**
 * The logs of a few sessions as spans, kept between requests: a request folds only the events that are new
 * since the previous one. Large logs are read in pages, so that no request blocks the others.
 */
import type { LogStore } from '@cairn/log'
import { decodeEvent, EVENT_TYPES } from '@cairn/protocol'
import { emptySpanFold, foldSpans, type SpanFold } from '@cairn/state'

/** Spans of all kept sessions together: some 30 MB. */
const MAX_SPANS = 200_000
const PAGE = 500
/** Chunks of answers are most of a log, and the spans do not need them. */
const READ = EVENT_TYPES.filter(type => type !== 'llm.delta')

type Entry = { fold: SpanFold; reading: Promise<void> }
export type SpanFolds = {
  /** The fold of a whole log, up to the last event of its row and perhaps later ones. */
  read(session: { id: string; last_event_id: number }): Promise<SpanFold>
}

export function createSpanFolds({ events }: Pick<LogStore, 'events'>): SpanFolds {
  const entries = new Map<string, Entry>()

  async function readOn(entry: Entry, id: string, lastId: number): Promise<void> {
    // Events that were lost with a damaged disk are no longer true.
    if (entry.fold.through > 0 && (await events.lostAt(id, entry.fold.through)) !== null)
      entry.fold = emptySpanFold()
    const { fold } = entry
    for (;;) {
      const page = await events.read(id, fold.through, PAGE, READ)
      if (page.length === 0) break
      foldSpans(
        fold,
        page.map(({ json }) => decodeEvent(json)),
      )
    }
    // The events after the last one are chunks.
    fold.through = Math.max(fold.through, lastId)
  }

  /** Drops the logs that were requested longest ago, above the limit. */
  function evict(): void {
    let total = 0
    for (const [id, { fold }] of [...entries].toReversed()) {
      total += fold.spans.count
      if (total > MAX_SPANS) entries.delete(id)
    }
  }

  return {
    async read({ id, last_event_id }) {
      const entry = entries.get(id) ?? { fold: emptySpanFold(), reading: Promise.resolve() }
      entries.delete(id)
      entries.set(id, entry)
      // One request at a time folds a log. A failed read leaves the fold where it was.
      const read = entry.reading.then(() => readOn(entry, id, last_event_id))
      entry.reading = read.catch(() => undefined)
      await read
      evict()
      return entry.fold
    },
  }
}
