/** The steps of a closed turn as a strip, drawn at the resolution of the visible axis. */
import { useEffect, useRef } from 'react'
import { endOf, hasFlag, kindNumber, piecesOf, SIGN } from '@cairn/state'
import { useThemeName } from '../ui/use-theme-name.ts'
import { coloursOf, contextOf, paintPiece } from './paint.ts'
import { pyramidOf } from './run-pyramid.ts'
import { endOfTurn } from './turn-facts.ts'
import type { Run } from './use-run.ts'

const HEIGHT = 28
const STEPS = { top: 10, height: 5 }
const WORKERS = { top: 16, height: 2 }
const WORKER = kindNumber('worker')

/** `drawn` changes with everything that the strip shows besides the visible part; the run itself may be older. */
type Props = { run: Run; session: string; span: number; drawn: string }

export function TurnStrip({ run, session, span, drawn }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const theme = useThemeName()
  const current = useRef(run)
  useEffect(() => {
    current.current = run
  })
  useEffect(() => {
    let frame = 0
    const element = canvas.current
    if (element === null) return
    element.dataset['drawn'] = drawn
    const paint = (): void => {
      frame = 0
      paintTurn(element, current.current, { session, span, theme })
    }
    paint()
    const stop = current.current.viewport.subscribe(() => {
      if (frame === 0) frame = requestAnimationFrame(paint)
    })
    return () => {
      stop()
      cancelAnimationFrame(frame)
    }
  }, [session, span, drawn, theme])
  return <canvas className="run-strip" ref={canvas} />
}

type Turn = { session: string; span: number; theme: string }

function paintTurn(element: HTMLCanvasElement, run: Run, { session, span, theme }: Turn): void {
  const { axis, now, viewport, source } = run
  const spans = source.tables.get(session)
  const width = viewport.pixels
  const context = contextOf(element, { width, height: HEIGHT })
  if (spans === undefined || context === null) return
  const colours = coloursOf(theme, element.parentElement ?? element, context)
  const scene = { axis, port: viewport.port, width, colours }
  const last = endOfTurn(spans, span) - 1
  for (const piece of piecesOf(pyramidOf(spans, now), {
    first: span + 1,
    last,
    minMs: viewport.port.width / width,
  }))
    paintPiece(context, piece, STEPS, scene)
  if (!source.hasWorkers) return
  for (let at = span + 1; at <= last; at++) {
    if (spans.kind[at] !== WORKER) continue
    const signs = hasFlag(spans, at, 'failed') ? SIGN.failed : 0
    const piece = { span: at, from: spans.from[at] ?? 0, to: endOf(spans, at, now), kind: WORKER, signs }
    paintPiece(context, piece, WORKERS, scene)
  }
}
