/** Drawing spans on a canvas: the minimap of a run, and the strip of a closed turn. */
import { type Axis, kindNumber, type Piece, SIGN } from '@cairn/state'
import { SPAN_KINDS } from '@cairn/protocol'
import type { Port } from './viewport.ts'

export type Colours = { kinds: readonly string[]; failed: string; waiting: CanvasPattern | string }

const TOKENS: Readonly<Record<(typeof SPAN_KINDS)[number], string>> = {
  turn: '--line-strong',
  model: '--span-model',
  tool: '--span-tool',
  browser: '--span-browser',
  worker: '--span-worker',
  wait: '--span-wait',
  gap: '--span-failed',
  mark: '--muted',
}

let known: { theme: string; colours: Colours } | null = null

/** The colours of a theme. A canvas cannot read custom properties, so they are resolved once for each theme. */
export function coloursOf(theme: string, element: HTMLElement, context: CanvasRenderingContext2D): Colours {
  if (known?.theme === theme) return known.colours
  const probe = document.createElement('span')
  element.append(probe)
  const colour = (token: string): string => {
    probe.style.color = `var(${token})`
    return getComputedStyle(probe).color
  }
  const kinds = SPAN_KINDS.map(kind => colour(TOKENS[kind]))
  const failed = colour('--span-failed')
  const wait = colour('--span-wait')
  probe.remove()
  const colours = { kinds, failed, waiting: hatched(context, wait) }
  known = { theme, colours }
  return colours
}

/** Waits are hatched, as their bars are. */
function hatched(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const size = 4
  const tile = new OffscreenCanvas(size, size)
  const pen = tile.getContext('2d')
  if (pen === null) return colour
  pen.strokeStyle = colour
  pen.lineWidth = 1.6
  for (const shift of [-size, 0, size]) {
    pen.beginPath()
    pen.moveTo(shift, size)
    pen.lineTo(shift + size, 0)
    pen.stroke()
  }
  return context.createPattern(tile, 'repeat') ?? colour
}

/**
 * The context of a canvas of this size, in CSS pixels, with nothing drawn. The size is given, because reading
 * it from the page would lay the page out for each canvas.
 */
export function contextOf(
  canvas: HTMLCanvasElement,
  { width, height }: { width: number; height: number },
): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== w) canvas.width = w
  if (canvas.height !== h) canvas.height = h
  const context = canvas.getContext('2d')
  context?.setTransform(ratio, 0, 0, ratio, 0, 0)
  context?.clearRect(0, 0, width, height)
  return context
}

export type Lane = { top: number; height: number }
type Scene = { axis: Axis; port: Port; colours: Colours; width: number }

const WAIT = kindNumber('wait')
const GAP = kindNumber('gap')
const MIN_PX = 1
const FAILED_PART = 0.4

export function paintPiece(
  pen: CanvasRenderingContext2D,
  piece: Piece,
  { top, height }: Lane,
  { axis, port, colours, width }: Scene,
): void {
  const scale = width / port.width
  const left = (axis.at(piece.from) - port.from) * scale
  const right = (axis.at(piece.to) - port.from) * scale
  if (right < 0 || left > width) return
  const isFailed = (piece.signs & SIGN.failed) !== 0
  if (piece.kind === GAP && !isFailed) {
    // Nothing ran there: an outline, as its bar has.
    pen.strokeStyle = colours.failed
    pen.setLineDash([2, 2])
    pen.strokeRect(left + 0.5, top + 0.5, Math.max(MIN_PX, right - left - 1), height - 1)
    return
  }
  const isBucket = piece.span === -1
  const wide = Math.max(MIN_PX, right - left)
  const colour = piece.kind === WAIT ? colours.waiting : (colours.kinds[piece.kind] ?? '')
  pen.fillStyle = isFailed && !isBucket ? colours.failed : colour
  pen.fillRect(left, top, wide, height)
  if (!isFailed || !isBucket) return
  // A failure among many steps is a mark at the foot of them.
  pen.fillStyle = colours.failed
  pen.fillRect(left, top + height * (1 - FAILED_PART), wide, height * FAILED_PART)
}
