/** Keeps the selected step, and the visible part of the axis while it is not the whole, in the address. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { readRunSearch } from './run-search.ts'
import type { Selection } from './selection.ts'
import type { Run } from './use-run.ts'

/** Delay before the address changes, so that holding a key down does not flood the navigation. */
const SETTLED_MS = 250

export function useRunAddress(run: Run): void {
  const { at, of, from, to } = readRunSearch(useSearch({ strict: false }))
  const navigate = useNavigate()
  const { source, selection, viewport, axis } = run
  const arrived = useRef(at === undefined && to === undefined)
  const isAsked = useRef(false)
  const current = useRef(run)
  useEffect(() => {
    current.current = run
  })

  // Goes where the address leads, once the spans of that log are here.
  const session = of ?? source.session
  const spans = source.tables.get(session)
  const main = source.tables.get(source.session)
  useEffect(() => {
    if (arrived.current || main === undefined || main.count === 0) return
    if (at !== undefined && spans === undefined) {
      if (!isAsked.current) source.load(session)
      isAsked.current = true
      return
    }
    const last = at === undefined || spans === undefined ? 0 : (spans.event[spans.count - 1] ?? 0)
    if (at !== undefined && last < at && source.connection !== 'live') return
    arrived.current = true
    if (at !== undefined) current.current.select({ session, event: at })
    if (to !== undefined && to > from) {
      const start = axis.at(axis.from + from)
      viewport.show({ from: start, width: axis.at(axis.from + to) - start })
    }
  })

  const write = useRef<(selection: Selection | null) => void>(() => undefined)
  useEffect(() => {
    write.current = selection => {
      if (!arrived.current) return
      const now = current.current
      const { port, isWhole } = now.viewport
      const ms = (position: number): number => Math.round(now.axis.timeAt(position) - now.axis.from)
      void navigate({
        to: '.',
        search: {
          ...(selection !== null && { at: selection.event }),
          ...(selection !== null && selection.session !== now.source.session && { of: selection.session }),
          ...(!isWhole && !now.isFollowing && { from: ms(port.from), to: ms(port.from + port.width) }),
        },
        replace: true,
      })
    }
  })
  useEffect(() => viewport.onSettled(() => write.current(current.current.selection)), [viewport])
  useEffect(() => {
    const timer = setTimeout(() => write.current(selection), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [selection])
}
