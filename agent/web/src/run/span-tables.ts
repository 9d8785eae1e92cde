/**
 * The folds of the sessions of a run, and what changed in them since the last report. This runs in a worker,
 * or in the page where a browser forbids workers.
 */
import type { SessionEvent, SpanFacts, SpanTable } from '@cairn/protocol'
import { COLUMNS, emptySpanFold, foldSpans, type SpanFold, type Spans, unpackSpans } from '@cairn/state'

export type ToTables =
  | { kind: 'begin'; session: string; table: SpanTable | null }
  | { kind: 'add'; session: string; events: SessionEvent[] }

type ColumnName = (typeof COLUMNS)[number]

/** The columns of numbers are sent whole, texts and facts only as far as they changed. */
export type TableReport = {
  session: string
  through: number
  at: number
  /** Epoch milliseconds of the first token of the open model call; 0 before it. */
  firstTokenAt: number
  count: number
  columns: Pick<Spans, ColumnName>
  /** The texts from this position on. */
  textsFrom: number
  names: string[]
  objects: string[]
  facts: [number, SpanFacts][]
}

type Entry = { fold: SpanFold; texts: number; facts: Map<number, SpanFacts> }

export function createSpanTables() {
  const entries = new Map<string, Entry>()
  const changed = new Set<string>()
  return {
    receive(message: ToTables): void {
      const { session } = message
      const known = message.kind === 'begin' ? undefined : entries.get(session)
      const fold =
        message.kind === 'begin' && message.table !== null
          ? unpackSpans(message.table)
          : (known?.fold ?? emptySpanFold())
      entries.set(session, known ?? { fold, texts: 0, facts: new Map() })
      if (message.kind === 'add') foldSpans(fold, message.events)
      changed.add(session)
    },
    /** The sessions that changed since the last call. */
    report(): TableReport[] {
      const reports = [...changed].flatMap(session => {
        const entry = entries.get(session)
        return entry === undefined ? [] : [reportOf(session, entry)]
      })
      changed.clear()
      return reports
    },
  }
}

function reportOf(session: string, entry: Entry): TableReport {
  const { fold } = entry
  const { spans } = fold
  // Only the newest turn can get its name after it was reported.
  const textsFrom = Math.max(0, Math.min(entry.texts, fold.turn === -1 ? entry.texts : fold.turn))
  const facts = [...spans.facts].filter(([span, one]) => entry.facts.get(span) !== one)
  for (const [span, one] of facts) entry.facts.set(span, one)
  entry.texts = spans.count
  const columns = Object.fromEntries(COLUMNS.map(name => [name, spans[name].slice(0, spans.count)]))
  return {
    session,
    through: fold.through,
    at: fold.at,
    firstTokenAt: fold.firstTokenAt,
    count: spans.count,
    columns: columns as TableReport['columns'],
    textsFrom,
    names: spans.names.slice(textsFrom),
    objects: spans.objects.slice(textsFrom),
    facts,
  }
}

/** The buffers of a report, which are moved to the page instead of copied. */
export const buffersOf = ({ columns }: TableReport): ArrayBuffer[] =>
  COLUMNS.map(name => columns[name].buffer)
