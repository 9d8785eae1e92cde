/** Writes the visible part of the axis into styles, from which bars compute their places. */
import { type RefObject, useLayoutEffect } from 'react'
import type { Viewport } from './viewport.ts'

/**
 * `--o` is the start of the visible part, `--w` its length, `--k` the percent that a millisecond takes, and
 * `--now` the end of the axis, where open bars end. While the visible part moves, they are written only to
 * the elements that match `moving`: on the root they would change the style of everything below it.
 */
export function useViewportStyle(
  viewport: Viewport,
  root: RefObject<HTMLElement | null>,
  moving: string | null = null,
): void {
  useLayoutEffect(() => {
    let frame = 0
    const elements = (): Iterable<HTMLElement> =>
      moving === null || root.current === null ? [] : root.current.querySelectorAll<HTMLElement>(moving)
    const write = (withRoot: boolean): void => {
      frame = 0
      if (root.current === null) return
      if (withRoot || moving === null) place(root.current, viewport)
      for (const element of elements()) place(element, viewport)
    }
    write(true)
    const stop = viewport.subscribe(() => {
      if (frame === 0) frame = requestAnimationFrame(() => write(false))
    })
    return () => {
      stop()
      cancelAnimationFrame(frame)
    }
  })
}

function place({ style }: HTMLElement, { port: { from, width }, length }: Viewport): void {
  style.setProperty('--o', String(from))
  style.setProperty('--w', String(width))
  style.setProperty('--k', String(100 / width))
  style.setProperty('--now', String(length))
}
