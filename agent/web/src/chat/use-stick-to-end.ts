/**
 * A list that grows at its end: kept in sight there until the reader scrolls away. Then their place is kept:
 * what is drawn above it moves nothing, and a change of tab comes back to it.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useScrollIntent } from '../ui/use-scroll-intent.ts'

/** So near to the end counts as at it, in pixels. */
const NEAR_END = 60

/** Where readers have left a session, from its end in pixels; who was at the end is there again. */
const places = new Map<string, number>()

type StickToEnd = {
  scroller: RefObject<HTMLDivElement | null>
  content: RefObject<HTMLDivElement | null>
  isAtEnd: boolean
  /** Of the scroller. */
  listeners: { onScroll: () => void } & ReturnType<typeof useScrollIntent>['listeners']
  toEnd: () => void
  /** What grows from here on grows above what is in sight. */
  keepPlace: () => void
}

/** `key` names the list. */
export function useStickToEnd(key: string): StickToEnd {
  const [isAtEnd, setAtEnd] = useState(() => !places.has(key))
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const intent = useScrollIntent()
  // The distance from the end that is kept: none while the end is; null where the reader scrolls freely.
  const kept = useRef<number | null>(places.get(key) ?? 0)
  /** How high the list and its box were when the place was last looked at. */
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
  // Artifacts and markdown grow after they were drawn.
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
    // What `settle` did is no scrolling of the reader.
    if (kept.current !== null && kept.current > 0 && Math.abs(fromEnd - kept.current) < 2) return
    const isNear = fromEnd < NEAR_END
    // A card that became lower moves the list up; what came with it must not be taken for a reader who left.
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
