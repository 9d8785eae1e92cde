/**
 * The rows, virtualised, fixed in height and placed by transform.
 *
 * The virtualizer is told of blocks of rows: it looks at all its items whenever their number changes, and an
 * arriving event must not cost a walk over the whole log.
 */
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
} from 'react'
import { type EventIndex, EVENT, GAP, type RowKey, gapBefore, indexOfKey, kindOfKey } from './event-index.ts'
import { EventRow, GapRow, TurnRow, rowId } from './event-row.tsx'

export type GridHandle = {
  focus(): void
  /** Scrolls only as far as needed, or to the middle. */
  reveal(position: number, align: 'auto' | 'center'): void
  firstVisible(): number
  pageSize(): number
}

type Props = {
  index: EventIndex
  /** What a turn without an end does. */
  openTurn: string
  rowHeight: number
  activeKey: RowKey | null
  isFollowing: boolean
  handle: RefObject<GridHandle | null>
  onFollow: (isFollowing: boolean) => void
  onActivate: (key: RowKey, open: boolean) => void
  onKeyDown: (event: KeyboardEvent) => void
}

/** A scroll this soon after a wheel, touch or scroll-bar press is the person's and not ours. */
const INTENT_MS = 600
const BLOCK = 8
const HEAD_HEIGHT = 24

export function EventGrid({
  index,
  openTurn,
  rowHeight,
  activeKey,
  isFollowing,
  handle,
  onFollow,
  onActivate,
  onKeyDown,
}: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const intentAt = useRef(-Infinity)
  const { rows } = index
  const virtualizer = useVirtualizer({
    count: Math.ceil(rows.length / BLOCK),
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight * BLOCK,
    overscan: 2,
    useFlushSync: false,
  })
  useEffect(() => virtualizer.measure(), [virtualizer, rowHeight])
  // The chips above appear with the first events and take space; the tail must stay in sight.
  const height = virtualizer.scrollRect?.height ?? 0
  useLayoutEffect(() => {
    if (isFollowing && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
  }, [isFollowing, rows.length, rowHeight, height])

  useImperativeHandle(
    handle,
    () => ({
      focus: () => scroller.current?.focus({ preventScroll: true }),
      reveal: (position, align) => {
        const box = scroller.current
        if (!box) return
        const top = position * rowHeight
        const reach = box.clientHeight - HEAD_HEIGHT - rowHeight
        if (align === 'center') box.scrollTop = top - reach / 2
        else if (top < box.scrollTop) box.scrollTop = top
        else if (top > box.scrollTop + reach) box.scrollTop = top - reach
      },
      firstVisible: () => Math.ceil((scroller.current?.scrollTop ?? 0) / rowHeight),
      pageSize: () => Math.max(1, Math.floor((scroller.current?.clientHeight ?? rowHeight) / rowHeight) - 2),
    }),
    [rowHeight],
  )

  const noteIntent = () => {
    intentAt.current = performance.now()
  }
  const scrolled = () => {
    const box = scroller.current
    if (!box || performance.now() - intentAt.current > INTENT_MS) return
    const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < rowHeight * 1.5
    if (isAtEnd !== isFollowing) onFollow(isAtEnd)
  }
  return (
    <div
      className="event-grid"
      data-testid="event-grid"
      role="grid"
      aria-label="Events"
      aria-rowcount={rows.length + 1}
      aria-colcount={5}
      tabIndex={0}
      aria-activedescendant={activeKey === null ? undefined : rowId(activeKey)}
      ref={scroller}
      onKeyDown={onKeyDown}
      onScroll={scrolled}
      onWheel={noteIntent}
      onTouchMove={noteIntent}
      onPointerDown={noteIntent}
      onClick={click => {
        const key = (click.target as HTMLElement).closest<HTMLElement>('[data-key]')?.dataset['key']
        if (key !== undefined) onActivate(Number(key), true)
      }}
    >
      <div className="grid-head" role="row" aria-rowindex={1}>
        {['id', 'time', 'delta', 'type', 'summary'].map(name => (
          <span key={name} role="columnheader" className={`cell-${name}`}>
            {name}
          </span>
        ))}
      </div>
      <div className="grid-body" role="rowgroup" style={{ height: rows.length * rowHeight }}>
        {virtualizer.getVirtualItems().flatMap(block =>
          rows.slice(block.index * BLOCK, (block.index + 1) * BLOCK).map((rowKey, i) => {
            const position = block.index * BLOCK + i
            return (
              <Row
                key={rowKey}
                index={index}
                openTurn={openTurn}
                rowKey={rowKey}
                rowIndex={position}
                top={position * rowHeight}
                isActive={rowKey === activeKey}
              />
            )
          }),
        )}
      </div>
    </div>
  )
}

function Row({
  index,
  openTurn,
  ...place
}: {
  index: EventIndex
  openTurn: string
  rowKey: RowKey
  rowIndex: number
  top: number
  isActive: boolean
}) {
  const at = indexOfKey(place.rowKey)
  const event = index.events[at]
  if (!event) return null
  if (kindOfKey(place.rowKey) === EVENT) {
    const before = index.events[at - 1]
    return (
      <EventRow
        {...place}
        event={event}
        deltaMs={before ? Date.parse(event.created_at) - Date.parse(before.created_at) : null}
      />
    )
  }
  if (kindOfKey(place.rowKey) === GAP) {
    const gap = gapBefore(index.events, at)
    return gap && <GapRow {...place} from={gap.from} through={gap.through} />
  }
  const turn = index.turnAt(at)
  return turn ? <TurnRow {...place} turn={turn} lastId={turn.lastId} open={openTurn} /> : null
}
