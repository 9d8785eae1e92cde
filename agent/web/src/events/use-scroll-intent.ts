/** Whether a scroll is the person's, and not one that drawing caused. */
import { useRef } from 'react'

/** A scroll this soon after a wheel, touch or scroll-bar press is the person's and not ours, in milliseconds. */
const INTENT_MS = 600

export function useScrollIntent() {
  const at = useRef(-Infinity)
  const note = () => {
    at.current = performance.now()
  }
  return {
    isMeant: () => performance.now() - at.current <= INTENT_MS,
    listeners: { onWheel: note, onTouchMove: note, onPointerDown: note },
  }
}
