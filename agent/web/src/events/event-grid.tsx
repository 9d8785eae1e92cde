/**
 * The rows, virtualised, with a fixed height and placed by transform.
 *
 * The virtualizer gets blocks of rows: it walks all its items whenever their number changes, and an arriving
 * event must not cost a walk over the whole log.
 */
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
} from 'react'
import {
  type EventIndex,
  EVENT,
  foldedBefore,
  GAP,
  type RowKey,
  gapBefore,
  indexOfKey,
  kindOfKey,
} from './event-index.ts'
import { EventRow, GapRow, TurnRow, rowId } from './event-row.tsx'
import { useScrollIntent } from '../ui/use-scroll-intent.ts'
import { eventsWords } from '../words/events.ts'

export type GridHandle = {
  focus(): void
  /** `auto` scrolls only as far as needed. */
  reveal(position: number, align: 'auto' | 'center'): void
  firstVisible(): number
  pageSize(): number
}

type Props = {
  index: EventIndex
  /** The state of a turn that has no ending yet. */
  openTurn: string
  rowHeight: number
  activeKey: RowKey | null
  isFollowing: boolean
  handle: RefObject<GridHandle | null>
  onFollow: (isFollowing: boolean) => void
  onActivate: (key: RowKey, open: boolean) => void
  onKeyDown: (event: KeyboardEvent) => void
}

const BLOCK = 8
const HEAD_HEIGHT = 24

export function EventGrid(props: Props) {
  const { index, openTurn, rowHeight, activeKey, isFollowing, onFollow, onActivate, onKeyDown } = props
  const scroller = useRef<HTMLDivElement>(null)
  const blocks = useBlocks(scroller, index.rows.length, rowHeight, isFollowing)
  useGridHandle(props.handle, scroller, rowHeight)
  const intent = useScrollIntent()
  const scrolled = () => {
    const box = scroller.current
    if (!box || !intent.isMeant()) return
    const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < rowHeight * 1.5
    if (isAtEnd !== isFollowing) onFollow(isAtEnd)
  }
  const clicked = (click: MouseEvent) => {
    const key = (click.target as HTMLElement).closest<HTMLElement>('[data-key]')?.dataset['key']
    if (key !== undefined) onActivate(Number(key), true)
  }
  const { rows } = index
  return (
    <div
      className="event-grid"
      data-testid="event-grid"
      role="grid"
      aria-label={eventsWords.grid}
      aria-rowcount={rows.length + 1}
      aria-colcount={5}
      tabIndex={0}
      aria-activedescendant={activeKey === null ? undefined : rowId(activeKey)}
      ref={scroller}
      onKeyDown={onKeyDown}
      onScroll={scrolled}
      {...intent.listeners}
      onClick={clicked}
    >
      <div className="grid-head" role="row" aria-rowindex={1}>
        {Object.entries(eventsWords.columns).map(([name, label]) => (
          <span key={name} role="columnheader" className={`cell-${name}`}>
            {label}
          </span>
        ))}
      </div>
      <div className="grid-body" role="rowgroup" style={{ height: rows.length * rowHeight }}>
        {blocks.flatMap(block =>
          rows.slice(block * BLOCK, (block + 1) * BLOCK).map((rowKey, i) => {
            const position = block * BLOCK + i
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

type Scroller = RefObject<HTMLDivElement | null>

/** The indexes of the visible blocks of rows. While following, the grid stays scrolled to its end. */
function useBlocks(scroller: Scroller, rows: number, rowHeight: number, isFollowing: boolean): number[] {
  const virtualizer = useVirtualizer({
    count: Math.ceil(rows / BLOCK),
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight * BLOCK,
    overscan: 2,
    useFlushSync: false,
  })
  useEffect(() => virtualizer.measure(), [virtualizer, rowHeight])
  // The filter chips appear with the first events and take space, so the height changes too.
  const height = virtualizer.scrollRect?.height ?? 0
  useLayoutEffect(() => {
    if (isFollowing && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
  }, [scroller, isFollowing, rows, rowHeight, height])
  return virtualizer.getVirtualItems().map(({ index }) => index)
}

function useGridHandle(handle: Props['handle'], scroller: Scroller, rowHeight: number): void {
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
    [scroller, rowHeight],
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
    const { count, before } = foldedBefore(index, at)
    return (
      <EventRow
        {...place}
        event={event}
        folded={count}
        isWaiting={index.isWaiting(event)}
        afterMs={before ? Date.parse(event.created_at) - Date.parse(before.created_at) : null}
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
