/** The active row of the grid, and its movement. */
import { type RefObject, useState } from 'react'
import {
  EVENT,
  type EventIndex,
  GAP,
  type RowKey,
  indexOfId,
  indexOfKey,
  keyOf,
  kindOfKey,
  positionOf,
} from './event-index.ts'
import type { GridHandle } from './event-grid.tsx'

export type EventCursor = {
  activeKey: RowKey | null
  isOpen: boolean
  activate(key: RowKey, open: boolean): void
  close(): void
  /** Moves by rows; without an active row, starts at the first visible one. */
  move(by: number): void
  moveTo(end: 'first' | 'last'): void
  /** Opens the active row; without one, the last row (`tail`) or the first visible one (`sight`). */
  open(from: 'tail' | 'sight'): void
  /** Goes to the event with this id or the nearest row; returns which of them. */
  jump(id: number): 'found' | 'pruned' | 'hidden' | 'none'
}

export function useEventCursor(
  index: EventIndex,
  grid: RefObject<GridHandle | null>,
  leaveTail: () => void,
): EventCursor {
  const [activeKey, setActiveKey] = useState<RowKey | null>(null)
  const [isOpen, setOpen] = useState(false)

  const goTo = (position: number, align: 'auto' | 'center') => {
    const key = index.rows[position]
    if (key === undefined) return
    leaveTail()
    setActiveKey(key)
    grid.current?.reveal(position, align)
  }
  const last = () => index.rows.length - 1
  return {
    activeKey,
    isOpen,
    activate(key, open) {
      setActiveKey(key)
      if (open) setOpen(true)
    },
    close: () => setOpen(false),
    open(from) {
      if (activeKey === null) goTo(from === 'tail' ? last() : (grid.current?.firstVisible() ?? 0), 'auto')
      setOpen(index.rows.length > 0)
    },
    move(by) {
      const here = activeKey === null ? null : positionOf(index.rows, activeKey)
      goTo(
        Math.min(last(), Math.max(0, here === null ? (grid.current?.firstVisible() ?? 0) : here + by)),
        'auto',
      )
    },
    moveTo: end => goTo(end === 'first' ? 0 : last(), 'auto'),
    jump(id) {
      const at = indexOfId(index.events, id)
      const isThere = index.events[at]?.id === id
      if (at === index.events.length && !isThere) {
        goTo(last(), 'center')
        return 'none'
      }
      const position = Math.min(last(), positionOf(index.rows, keyOf(at, isThere ? EVENT : GAP)))
      goTo(position, 'center')
      const found = index.rows[position]
      if (found === undefined || indexOfKey(found) !== at) return isThere ? 'hidden' : 'pruned'
      if (isThere && kindOfKey(found) === EVENT) setOpen(true)
      return isThere ? 'found' : 'pruned'
    },
  }
}
