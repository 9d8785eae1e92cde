/** Detects whether the person scrolled, rather than a layout change. */
import { type PointerEvent, useRef } from 'react'

/** Milliseconds after a wheel, touch or scroll-bar action in which a scroll is attributed to the person. */
const INTENT_MS = 600

export function useScrollIntent() {
  const at = useRef(-Infinity)
  const note = () => {
    at.current = performance.now()
  }
  return {
    isMeant: () => performance.now() - at.current <= INTENT_MS,
    listeners: {
      onWheel: note,
      onTouchMove: note,
      // A pointer on the content is not on the scroll bar.
      onPointerDown: ({ target, currentTarget }: PointerEvent) => {
        if (target === currentTarget) note()
      },
    },
  }
}
