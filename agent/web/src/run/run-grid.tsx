/**
 * The rows of the run, virtual, with a fixed height. They are in the flow, so that the row of a turn can be
 * sticky; the turn of the first visible row is always in the document.
 */
import {
  type MouseEvent,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { kindOf, type SpanRow } from '@cairn/state'
import { useScrollIntent } from '../ui/use-scroll-intent.ts'
import { runWords } from '../words/run.ts'
import { AxisHead, AxisLines } from './axis-head.tsx'
import { zoomOnWheel } from './minimap.tsx'
import { RunRow, rowId } from './run-row.tsx'
import { viewOfRow } from './row-view.ts'
import type { Run } from './use-run.ts'
import { useViewportStyle } from './use-viewport-style.ts'

export type RunGridHandle = {
  focus(): void
  reveal(position: number): void
  pageSize(): number
}

type Props = {
  run: Run
  rowHeight: number
  handle: RefObject<RunGridHandle | null>
  onActivate: (position: number) => void
  onFlip: (position: number) => void
}

/** Rows are drawn in steps, so that not every pixel of scrolling renders. */
const STEP = 4
const MAX_ROWS = 60

export function RunGrid({ run, rowHeight, handle, onActivate, onFlip }: Props) {
  const { rows, viewport } = run
  const scroller = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const { first, last, scrolled } = useVisibleRows(scroller, rows.length, rowHeight)
  useGridHandle(handle, scroller, rowHeight)
  useViewportStyle(viewport, box, '.run-lane, .run-axis-lane, .run-lines')
  useSettled(run)
  const intent = useScrollIntent()
  useFollow(run, scroller, rowHeight)
  useLayoutEffect(() => {
    // The axis ends where the rows end, beside the scroll bar.
    const bar = (scroller.current?.offsetWidth ?? 0) - (scroller.current?.clientWidth ?? 0)
    box.current?.closest<HTMLElement>('.run')?.style.setProperty('--bar-width', `${bar}px`)
  }, [])
  useEffect(() => {
    const tree = box.current?.querySelector('.run-axis-label')?.getBoundingClientRect().width ?? 0
    const options = { whole: false, onUse: () => run.setFollowing(false), left: tree }
    return zoomOnWheel(box.current, viewport, options)
  })
  const onScroll = () => {
    scrolled()
    const element = scroller.current
    if (element === null || !intent.isMeant()) return
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight
    if (!isAtEnd && run.isFollowing) run.setFollowing(false)
  }
  /** The row of an event of the mouse. */
  const rowAt = ({ target }: MouseEvent): number => {
    const key = (target as HTMLElement).closest<HTMLElement>('[data-key]')?.dataset['key']
    return rows.findIndex(row => row.key === key)
  }
  const onClick = (click: MouseEvent) => {
    const position = rowAt(click)
    if (position === -1) return
    if ((click.target as HTMLElement).closest('[data-twisty]')) onFlip(position)
    else onActivate(position)
  }
  const selected = rows[run.position]
  const isShown = run.position >= first && run.position < last
  return (
    <div className="run-chart" ref={box}>
      <AxisHead run={run} />
      <div className="run-body">
        <AxisLines run={run} />
        {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- its keys work on the page */}
        <div
          className="run-rows"
          data-testid="run-grid"
          role="treegrid"
          aria-label={runWords.grid}
          aria-rowcount={rows.length + 1}
          aria-colcount={2}
          tabIndex={0}
          aria-activedescendant={selected !== undefined && isShown ? rowId(selected.key) : undefined}
          ref={scroller}
          onScroll={onScroll}
          {...intent.listeners}
          onClick={onClick}
          onDoubleClick={click => onFlip(rowAt(click))}
        >
          <div className="visually-hidden" role="row" aria-rowindex={1}>
            <span role="columnheader">{runWords.step}</span>
            <span role="columnheader">{runWords.time}</span>
          </div>
          <Rows run={run} first={first} last={last} rowHeight={rowHeight} />
        </div>
      </div>
    </div>
  )
}

type RowsProps = { run: Run; first: number; last: number; rowHeight: number }

/** The visible rows below room for those before them. */
function Rows({ run, first, last, rowHeight }: RowsProps) {
  const { rows } = run
  const turn = turnBefore(run, rows, first)
  const shown = [...(turn === -1 ? [] : [turn]), ...range(first, last)]
  const before = Math.max(0, first - (turn === -1 ? 0 : 1))
  return (
    <div role="rowgroup" style={{ height: rows.length * rowHeight }}>
      <div role="presentation" style={{ height: before * rowHeight }} />
      {shown.map(position => {
        const row = rows[position]
        if (row === undefined) return null
        // Rows that scroll away become those that appear: that is cheaper than new elements.
        const key = position < first ? 'turn' : position % MAX_ROWS
        return <RunRow key={key} view={viewOfRow(run, row, position)} run={run} />
      })}
    </div>
  )
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at)

/** The row of the turn that the first visible row is in; -1 if it is itself visible. */
function turnBefore({ source }: Run, rows: readonly SpanRow[], first: number): number {
  const row = rows[first]
  if (row === undefined || row.level === 0) return -1
  for (let at = first - 1; at >= 0; at--) {
    const before = rows[at]
    const spans = before === undefined ? undefined : source.tables.get(before.session)
    if (before?.level === 0 && spans !== undefined && kindOf(spans, before.span) === 'turn') return at
  }
  return -1
}

type Scroller = RefObject<HTMLDivElement | null>

function useVisibleRows(scroller: Scroller, count: number, rowHeight: number) {
  const [state, setState] = useState({ first: 0, height: 800 })
  const read = () => {
    const element = scroller.current
    if (element === null) return
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight / STEP) * STEP - STEP)
    const height = element.clientHeight
    setState(old => (old.first === first && old.height === height ? old : { first, height }))
  }
  const current = useRef(read)
  useLayoutEffect(() => {
    current.current = read
  })
  useEffect(() => {
    const observer = new ResizeObserver(() => current.current())
    if (scroller.current) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [scroller])
  const visible = Math.ceil(state.height / rowHeight) + 3 * STEP
  const first = Math.min(state.first, Math.max(0, count - 1))
  return { first, last: Math.min(count, first + Math.min(visible, MAX_ROWS - 1)), scrolled: read }
}

/** Renders when the visible part of the axis has come to rest, so that labels find their side. */
function useSettled({ viewport }: Run): void {
  const [, setSettled] = useState(0)
  useEffect(() => viewport.onSettled(() => setSettled(viewport.settled)), [viewport])
}

/** While it follows, the grid stays at its end. */
function useFollow({ isFollowing, isLive, rows }: Run, scroller: Scroller, rowHeight: number): void {
  const { length } = rows
  useLayoutEffect(() => {
    if (isFollowing && isLive) scroller.current?.scrollTo({ top: length * rowHeight })
  }, [scroller, isFollowing, isLive, length, rowHeight])
}

function useGridHandle(handle: Props['handle'], scroller: Scroller, rowHeight: number): void {
  useImperativeHandle(
    handle,
    () => ({
      focus: () => scroller.current?.focus({ preventScroll: true }),
      reveal(position) {
        const element = scroller.current
        if (element === null) return
        const top = position * rowHeight
        // The sticky row of the turn covers the first row.
        if (top < element.scrollTop + rowHeight) element.scrollTop = top - rowHeight
        else if (top + rowHeight > element.scrollTop + element.clientHeight)
          element.scrollTop = top + rowHeight - element.clientHeight
      },
      pageSize: () => Math.max(1, Math.floor((scroller.current?.clientHeight ?? rowHeight) / rowHeight) - 2),
    }),
    [scroller, rowHeight],
  )
}
