/**
 * The dialog of a menu. It belongs to the frame and not to the row or bar whose menu opened it, which gives
 * way to another one when the window becomes narrow.
 */
import { type ReactNode, useEffect, useSyncExternalStore } from 'react'

type RenderDialog = (close: () => void) => ReactNode

let shown: RenderDialog | null = null
const listeners = new Set<() => void>()

function show(next: RenderDialog | null): void {
  shown = next
  for (const listener of listeners) listener()
}
const close = (): void => show(null)
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Replaces the dialog that is shown, if there is one. */
export const showDialog = (render: RenderDialog): void => show(render)

/** Shows the dialog until it closes itself. With the path of the page as its key, also until that is left. */
export function DialogHost() {
  const render = useSyncExternalStore(subscribe, () => shown)
  useEffect(() => close, [])
  return render?.(close)
}
