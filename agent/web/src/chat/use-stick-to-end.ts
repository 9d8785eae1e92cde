/**
 * Keeps a growing list scrolled to its end until the reader scrolls away. From then on it keeps their
 * position: when earlier items are drawn above, and when they return from another tab.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useScrollIntent } from '../ui/use-scroll-intent.ts'

/** A position this close to the end counts as the end, in pixels. */
const NEAR_END = 60

/** The scroll positions of readers, in pixels from the end, by list. A list at its end has no entry. */
const places = new Map<string, number>()

type StickToEnd = {
  scroller: RefObject<HTMLDivElement | null>
  content: RefObject<HTMLDivElement | null>
  isAtEnd: boolean
  /** Listeners for the scroll container. */
  listeners: { onScroll: () => void } & ReturnType<typeof useScrollIntent>['listeners']
  toEnd: () => void
  /** Keeps the visible items in place when items are added above. */
  keepPlace: () => void
}

/** `key` names the list. */
export function useStickToEnd(key: string): StickToEnd {
  const [isAtEnd, setAtEnd] = useState(() => !places.has(key))
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const intent = useScrollIntent()
  // The distance from the end to keep: 0 at the end; null while the reader scrolls freely.
  const kept = useRef<number | null>(places.get(key) ?? 0)
  /** The heights of the list and of its container at the last check. */
  const heights = useRef('')
  const settle = useCallback(() => {
    const box = scroller.current
    if (!box) return
    if (kept.current !== null) box.scrollTop = box.scrollHeight - box.clientHeight - kept.current
    heights.current = heightsOf(box)
  }, [])
  useLayoutEffect(() => {
    if (kept.current === 0) settle()
  })
  // Artifacts and Markdown grow after they are first drawn.
  useEffect(() => {
    const observer = new ResizeObserver(settle)
    if (content.current) observer.observe(content.current)
    if (scroller.current) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [settle])
  function onScroll(): void {
    const box = scroller.current
    if (!box) return
    const fromEnd = box.scrollHeight - box.scrollTop - box.clientHeight
    // `settle` caused this scroll event, not the reader.
    if (kept.current !== null && kept.current > 0 && Math.abs(fromEnd - kept.current) < 2) return
    const isNear = fromEnd < NEAR_END
    // A card that shrinks also scrolls the list; do not take that for a reader who scrolls away.
    const hasChanged = heights.current !== heightsOf(box)
    heights.current = heightsOf(box)
    if (!isNear && kept.current === 0 && hasChanged && !intent.isMeant()) return settle()
    kept.current = isNear ? 0 : null
    if (isNear) places.delete(key)
    else places.set(key, fromEnd)
    setAtEnd(isNear)
  }
  return {
    scroller,
    content,
    isAtEnd,
    listeners: { onScroll, ...intent.listeners },
    toEnd() {
      kept.current = 0
      places.delete(key)
      setAtEnd(true)
      settle()
    },
    keepPlace() {
      const box = scroller.current
      if (box) kept.current = Math.max(1, box.scrollHeight - box.scrollTop - box.clientHeight)
    },
  }
}

const heightsOf = ({ scrollHeight, clientHeight }: HTMLElement): string => `${scrollHeight} ${clientHeight}`
