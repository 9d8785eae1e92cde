/** A list that grows at its end: kept in sight there until the reader scrolls away. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** So near to the end counts as at it, in pixels. */
const NEAR_END = 60

type StickToEnd = {
  scroller: RefObject<HTMLDivElement | null>
  content: RefObject<HTMLDivElement | null>
  isAtEnd: boolean
  onScroll: () => void
  toEnd: () => void
  /** What grows from here on grows out of sight. */
  letGo: () => void
}

/** `revision` changes with the list. */
export function useStickToEnd(revision: number): StickToEnd {
  const [isAtEnd, setAtEnd] = useState(true)
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const sticks = useRef(true)
  const stick = useCallback(() => {
    if (sticks.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
  }, [])
  useLayoutEffect(stick, [stick, revision])
  // Artifacts and markdown grow after they were drawn.
  useEffect(() => {
    const observer = new ResizeObserver(stick)
    if (content.current) observer.observe(content.current)
    if (scroller.current) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [stick])
  return {
    scroller,
    content,
    isAtEnd,
    onScroll() {
      const box = scroller.current
      if (!box) return
      sticks.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END
      setAtEnd(sticks.current)
    },
    toEnd() {
      sticks.current = true
      setAtEnd(true)
      stick()
    },
    letGo() {
      sticks.current = false
    },
  }
}
