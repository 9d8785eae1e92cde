/** The whole run in three lanes, with a brush around the visible part. */
import { type KeyboardEvent, type PointerEvent, useEffect, useRef } from 'react'
import { endOf, hasFlag, kindNumber, type Piece, piecesOf, SIGN, type Spans } from '@cairn/state'
import { useThemeName } from '../ui/use-theme-name.ts'
import { runWords } from '../words/run.ts'
import { coloursOf, type Lane, paintPiece, contextOf } from './paint.ts'
import { pyramidOf } from './run-pyramid.ts'
import { formatElapsed } from './ticks.ts'
import type { Run } from './use-run.ts'
import { useViewportStyle } from './use-viewport-style.ts'
import type { Viewport } from './viewport.ts'

const LANES: readonly [Lane, Lane, Lane] = [
  { top: 4, height: 9 },
  { top: 17, height: 6 },
  { top: 26, height: 6 },
]
const WORKER = kindNumber('worker')
const TURN = kindNumber('turn')
/** Bars that the filter leaves out stay visible. */
const FAINT = 0.25

/** Positions of the workers, each in the first lane that is free at its start. */
function workersOf(spans: Spans, now: number): { span: number; lane: Lane }[] {
  const freeAt = [0, 0]
  return [...spans.facts.keys()].flatMap(span => {
    if (spans.kind[span] !== WORKER) return []
    const at = (freeAt[0] ?? 0) <= (spans.from[span] ?? 0) ? 0 : 1
    freeAt[at] = endOf(spans, span, now)
    return [{ span, lane: LANES[at === 0 ? 1 : 2] }]
  })
}

export function Minimap({
  run,
  matches,
}: {
  run: Run
  matches: ((spans: Spans, span: number) => boolean) | null
}) {
  const { spans, axis, now, viewport } = run
  const canvas = useRef<HTMLCanvasElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const theme = useThemeName()
  useEffect(() => {
    const paint = (): void => {
      const element = canvas.current
      const { clientWidth: width = 0, clientHeight: height = 0 } = element ?? {}
      const pen = element === null ? null : contextOf(element, { width, height })
      if (element === null || pen === null || width === 0) return
      const port = { from: 0, width: axis.length }
      const scene = { axis, port, width, colours: coloursOf(theme, element.parentElement ?? element, pen) }
      pen.globalAlpha = matches === null ? 1 : FAINT
      // In active time a pixel is not the same length everywhere, so pieces are cut by the finest of them.
      const minMs = axis.length / width
      for (const piece of piecesOf(pyramidOf(spans, now), { first: 0, last: spans.count - 1, minMs }))
        paintPiece(pen, piece, LANES[0], scene)
      for (const { span, lane } of workersOf(spans, now))
        paintPiece(pen, pieceOf(spans, span, now), lane, scene)
      pen.globalAlpha = 1
      if (matches === null) return
      for (let span = 0; span < spans.count; span++)
        if (spans.kind[span] !== TURN && spans.kind[span] !== WORKER && matches(spans, span))
          paintPiece(pen, pieceOf(spans, span, now), LANES[0], scene)
    }
    paint()
    const observer = new ResizeObserver(paint)
    if (canvas.current) observer.observe(canvas.current)
    return () => observer.disconnect()
  }, [axis, spans, now, theme, matches])
  useViewportStyle(viewport, box)
  return (
    <div className="run-minimap" ref={box} data-testid="run-minimap">
      <canvas ref={canvas} aria-hidden="true" />
      <Brush run={run} />
    </div>
  )
}

const pieceOf = (spans: Spans, span: number, now: number): Piece => ({
  span,
  from: spans.from[span] ?? 0,
  to: endOf(spans, span, now),
  kind: spans.kind[span] ?? 0,
  signs: hasFlag(spans, span, 'failed') ? SIGN.failed : 0,
})

type Grip = 'from' | 'to' | 'both' | 'new'
type Drag = { grip: Grip; startX: number; from: number; to: number }

/** Pixels from an edge of the brush that take hold of the edge. */
const EDGE_PX = 8
/** The area of the brush is wider than the run by this on each side, so that its edges can be reached. */
const MARGIN_PX = 6

/** Follows a pointer: on the edges it moves them, inside the brush it moves both, beside it begins a new one. */
function useBrushDrag(viewport: Viewport, onUse: () => void) {
  const drag = useRef<Drag | null>(null)
  const fingers = useRef(new Map<number, number>())
  const place = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    return {
      x: event.clientX - left - MARGIN_PX,
      scale: viewport.length / Math.max(1, width - 2 * MARGIN_PX),
    }
  }
  const release = (event: PointerEvent<HTMLDivElement>) => {
    fingers.current.delete(event.pointerId)
    drag.current = null
  }
  return {
    onPointerDown(event: PointerEvent<HTMLDivElement>) {
      if (event.button !== 0) return
      event.currentTarget.setPointerCapture(event.pointerId)
      const { x, scale } = place(event)
      fingers.current.set(event.pointerId, x)
      drag.current = null
      // Two fingers zoom, and do not drag.
      if (fingers.current.size > 1) return onUse()
      const { from, width } = viewport.port
      const [left, right] = [from / scale, (from + width) / scale]
      const grip: Grip =
        Math.abs(x - left) <= EDGE_PX && !viewport.isWhole
          ? 'from'
          : Math.abs(x - right) <= EDGE_PX && !viewport.isWhole
            ? 'to'
            : x > left && x < right && !viewport.isWhole
              ? 'both'
              : 'new'
      drag.current = { grip, startX: x, from, to: from + width }
      onUse()
    },
    onPointerMove(event: PointerEvent<HTMLDivElement>) {
      const { x, scale } = place(event)
      if (fingers.current.size > 1) return pinch(viewport, fingers.current, { id: event.pointerId, x, scale })
      if (drag.current === null) return
      const { grip, startX, from, to } = drag.current
      const by = (x - startX) * scale
      if (grip === 'new' && Math.abs(x - startX) < 3) return
      const ends: Record<Grip, [number, number]> = {
        from: [Math.min(from + by, to), to],
        to: [from, Math.max(to + by, from)],
        both: [from + by, to + by],
        new: [Math.min(startX, x) * scale, Math.max(startX, x) * scale],
      }
      const [start, end] = ends[grip]
      viewport.show({ from: start, width: end - start })
    },
    onPointerUp: release,
    onPointerCancel: release,
  }
}

type Finger = { id: number; x: number; scale: number }

/** Zooms by the distance of two fingers, around the middle between them. */
function pinch(viewport: Viewport, fingers: Map<number, number>, { id, x, scale }: Finger): void {
  const other = [...fingers].find(([finger]) => finger !== id)?.[1]
  const before = fingers.get(id)
  if (other === undefined || before === undefined) return
  fingers.set(id, x)
  const [was, is] = [Math.abs(before - other), Math.abs(x - other)]
  if (was > 0 && is > 0) viewport.zoom(was / is, ((x + other) / 2) * scale)
}

const STEP = 0.1

function Brush({ run }: { run: Run }) {
  const { viewport, axis, setFollowing } = run
  const drag = useBrushDrag(viewport, () => setFollowing(false))
  const area = useRef<HTMLDivElement>(null)
  useEffect(() => zoomOnWheel(area.current, viewport, { whole: true, onUse: () => setFollowing(false) }))
  const { from, width } = viewport.port
  const text = (position: number) => formatElapsed(axis.timeAt(position) - axis.from)
  const onKeyDown = (event: KeyboardEvent) => {
    const { from, width } = viewport.port
    const to: Record<string, () => void> = {
      ArrowLeft: () => viewport.show({ from: from - width * STEP, width }),
      ArrowRight: () => viewport.show({ from: from + width * STEP, width }),
      ArrowUp: () => viewport.zoom(0.8, from + width / 2),
      ArrowDown: () => viewport.zoom(1.25, from + width / 2),
      Home: () => viewport.show({ from: 0, width }),
      End: () => viewport.show({ from: viewport.length - width, width }),
    }
    const move = to[event.key]
    if (move === undefined) return
    event.preventDefault()
    event.stopPropagation()
    setFollowing(false)
    move()
  }
  return (
    <div className="run-brush-area" ref={area} {...drag}>
      <div
        className="run-brush"
        role="slider"
        tabIndex={0}
        aria-label={runWords.minimap}
        aria-valuemin={0}
        aria-valuemax={Math.round(axis.length)}
        aria-valuenow={Math.round(from)}
        aria-valuetext={runWords.brush(text(from), text(from + width))}
        onKeyDown={onKeyDown}
        data-testid="run-brush"
      />
    </div>
  )
}

/**
 * Zooms with the wheel: over the minimap always, over the rows only with Ctrl, because there it scrolls. A
 * pinch of a touch pad is a wheel with Ctrl. React's own listeners cannot stop the browser from zooming.
 */
export function zoomOnWheel(
  element: HTMLElement | null,
  viewport: Viewport,
  { whole, onUse, left = 0 }: { whole: boolean; onUse: () => void; left?: number },
): () => void {
  const onWheel = (event: WheelEvent): void => {
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY)
    if (!whole && !event.ctrlKey && !event.metaKey && !isSideways && !event.shiftKey) return
    event.preventDefault()
    onUse()
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect()
    const { from, width } = viewport.port
    const share = Math.min(1, Math.max(0, (event.clientX - box.left - left) / Math.max(1, box.width - left)))
    if (isSideways || (event.shiftKey && !event.ctrlKey)) {
      const by = ((event.deltaX || event.deltaY) / Math.max(1, box.width)) * width
      viewport.show({ from: from + by, width })
    } else
      viewport.zoom(Math.exp(event.deltaY * 0.002), whole ? share * viewport.length : from + share * width)
  }
  element?.addEventListener('wheel', onWheel, { passive: false })
  return () => element?.removeEventListener('wheel', onWheel)
}
