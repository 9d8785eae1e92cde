/** The state of the Run view: its spans, rows, axis, visible part, filter and selection. */
import { useEffect, useLayoutEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { Session, SessionState } from '@cairn/protocol'
import { createAxis, emptySpans, idleStretches, kindOf, rowKey, rowsOfRun, type SpanRow } from '@cairn/state'
import type { FollowedSession } from '../session/followed-session.ts'
import { useNow } from '../ui/use-now.ts'
import { matcherOf, NO_RUN_FILTER, type RunFilter } from './run-filter.ts'
import { createRun, type RunSource } from './run-source.ts'
import { rowOfSelection, type Selection, spanOfSelection } from './selection.ts'
import { turnOf } from './turn-facts.ts'
import { createViewport, type Viewport } from './viewport.ts'

export type TimeMode = 'active' | 'clock'
const MODE_KEY = 'cairn-run-time'
/** How often the end of a running session moves. */
const TICK_MS = 250
/** The longest interval that browsers know. */
const NEVER_MS = 2 ** 31 - 1
const NONE = emptySpans(1)

export function useRunSource(log: FollowedSession, isWhole: boolean): RunSource {
  const source = useMemo(() => createRun(log, isWhole), [log, isWhole])
  useEffect(() => source.start(), [source])
  useSyncExternalStore(source.subscribe, () => source.revision)
  return source
}

/** States in which time passes for the run: it works, or waits for a person. */
const LIVE: ReadonlySet<string> = new Set<SessionState>([
  'running',
  'needs_answer',
  'needs_approval',
  'needs_action',
  'paused',
])

export type Run = ReturnType<typeof useRun>

export function useRun(source: RunSource, session: Session | undefined) {
  const [mode, setMode] = useTimeMode()
  const [filter, setFilter] = useState<RunFilter>(NO_RUN_FILTER)
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [selection, setSelection] = useState<Selection | null>(null)
  const viewport = useState<Viewport>(createViewport)[0]
  const [isFollowing, setFollowing] = useState(true)
  const [leftAt, setLeftAt] = useState(0)
  const spans = source.tables.get(source.session) ?? NONE
  const isAlive = LIVE.has(session?.state ?? 'idle')
  const isLive = isAlive && source.connection === 'live'
  const now = useEndOfRun(source.at, isLive)

  const axis = useMemo(() => {
    const from = spans.count === 0 ? now : (spans.from[0] ?? now)
    const range = { from, to: Math.max(now, from + 1) }
    return createAxis(range, mode === 'active' ? idleStretches(spans, range, now) : [])
  }, [spans, now, mode])
  useLayoutEffect(() => viewport.setLength(axis.length, isFollowing), [viewport, axis, isFollowing])

  const { session: ownSession, tables } = source
  const rows = useMemo(
    () =>
      rowsOfRun({
        session: ownSession,
        tables,
        isOpen: key => opened.get(key),
        matches: matcherOf(filter),
      }),
    [ownSession, tables, opened, filter],
  )
  useWorkersOf(source, rows)
  const position = useMemo(
    () => (selection === null ? -1 : rowOfSelection(rows, tables, selection)),
    [rows, tables, selection],
  )
  const span = selection === null ? -1 : spanOfSelection(source.tables, selection)

  const follow = (next: boolean) => {
    if (isFollowing && !next) setLeftAt(spans.count)
    setFollowing(next)
  }
  const flip = (row: SpanRow, isRowOpen: boolean) => setOpened(old => new Map(old).set(row.key, isRowOpen))
  return {
    source,
    session,
    spans,
    axis,
    now,
    isAlive,
    isLive,
    rows,
    mode,
    switchMode() {
      setMode(mode === 'active' ? 'clock' : 'active')
      viewport.showWhole()
    },
    filter,
    setFilter,
    viewport,
    isFollowing,
    setFollowing: follow,
    /** Steps that were added since the view stopped following. */
    added: isFollowing ? 0 : Math.max(0, spans.count - leftAt),
    flip,
    selection,
    /** The row and the span of the selection; -1 if there is none. */
    position,
    span,
    /** Selects a step, and opens the rows that hide it. */
    select(next: Selection) {
      follow(false)
      setSelection(next)
      setOpened(old => withShown(old, source, next))
    },
    deselect: () => setSelection(null),
  }
}

/** The mode, kept for the next visit. */
function useTimeMode(): [TimeMode, (mode: TimeMode) => void] {
  const [mode, setMode] = useState<TimeMode>(() =>
    localStorage.getItem(MODE_KEY) === 'clock' ? 'clock' : 'active',
  )
  const keep = (next: TimeMode): void => {
    localStorage.setItem(MODE_KEY, next)
    setMode(next)
  }
  return [mode, keep]
}

/** The end of the axis: the newest event, or now while the session is alive. */
function useEndOfRun(at: number, isLive: boolean): number {
  const now = useNow(isLive ? TICK_MS : NEVER_MS)
  const [wasLive, setWasLive] = useState(isLive)
  if (isLive && !wasLive) setWasLive(true)
  // Without a connection the clock stands, and the end stays where it was last known.
  return at === 0 || wasLive ? Math.max(at, now) : at
}

/** Loads the logs of the workers whose rows are open. */
function useWorkersOf(source: RunSource, rows: readonly SpanRow[]): void {
  useEffect(() => {
    for (const { session, span, isOpen: isRowOpen, count } of rows) {
      const spans = source.tables.get(session)
      if (isRowOpen !== true || count > 1 || spans === undefined || kindOf(spans, span) !== 'worker') continue
      const worker = spans.facts.get(span)?.session_id
      if (worker !== undefined) source.load(worker)
    }
  }, [source, rows])
}

/** The opened rows with those that a selection needs: its turn, and the worker whose log it is in. */
function withShown(
  opened: ReadonlyMap<string, boolean>,
  source: RunSource,
  selection: Selection,
): ReadonlyMap<string, boolean> {
  const next = new Map(opened)
  const open = (session: string, span: number): void => {
    const spans = source.tables.get(session)
    if (spans === undefined || span === -1) return
    const turn = turnOf(spans, span)
    if (turn !== -1 && turn !== span) next.set(rowKey(session, spans, turn), true)
  }
  open(selection.session, spanOfSelection(source.tables, selection))
  if (selection.session === source.session) return next
  for (const [session, spans] of source.tables)
    for (const [span, { session_id }] of spans.facts)
      if (session_id === selection.session) {
        next.set(rowKey(session, spans, span), true)
        open(session, span)
      }
  return next
}
