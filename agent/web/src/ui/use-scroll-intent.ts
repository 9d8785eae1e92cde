/** Whether a scroll is the person's, and not one that drawing caused. */
import { type PointerEvent, useRef } from 'react'

/** A scroll this soon after a wheel, touch or scroll-bar press is the person's and not ours, in milliseconds. */
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
      // A press on what lies in the box is none on its scroll bar.
      onPointerDown: ({ target, currentTarget }: PointerEvent) => {
        if (target === currentTarget) note()
      },
    },
  }
}
