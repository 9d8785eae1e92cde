/** The labels of the axis: elapsed times at round steps, and the lengths of the breaks. Pure. */
import type { Axis, Stretch } from '@cairn/state'
import type { Port } from './viewport.ts'

export type Tick = { position: number; elapsedMs: number }

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map(n => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map(n => n * MINUTE),
  ...[1, 2, 4, 6, 12].map(n => n * HOUR),
  ...[1, 2, 7, 14, 28, 56, 112].map(n => n * DAY),
]
const MIN_GAP_PX = 88

/** The step between labels, so that they keep their distance on a strip of this many pixels. */
export const stepOf = ({ width }: Port, pixels: number): number => {
  const least = (width / Math.max(1, pixels)) * MIN_GAP_PX
  return STEPS.find(step => step >= least) ?? Math.ceil(least / DAY) * DAY
}

/** Labels of breaks and of now take this much room on each side of their middle. */
const ROOM_PX = 44

/** Breaks narrower than this have no label. */
const LABELLED_PX = 8

/** The breaks that have a label: wide enough, and apart from the label before. */
export function labelledBreaks(axis: Axis, port: Port, pixels: number): readonly Stretch[] {
  const scale = pixels / port.width
  if (axis.breakMs * scale < LABELLED_PX) return []
  let last = -Infinity
  return visibleBreaks(axis, port).filter(({ from }) => {
    const at = axis.at(from) * scale
    if (at - last < 2 * ROOM_PX) return false
    last = at
    return true
  })
}

/** The breaks in a port, found by bisection: a long run has thousands. */
export function visibleBreaks(axis: Axis, port: Port): readonly Stretch[] {
  const { breaks } = axis
  const [from, to] = [axis.timeAt(port.from), axis.timeAt(port.from + port.width)]
  const first = bisect(breaks.length, index => (breaks[index]?.to ?? 0) >= from)
  const end = bisect(breaks.length, index => (breaks[index]?.from ?? 0) > to)
  return breaks.slice(first, end)
}

function bisect(length: number, isAtOrPast: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isAtOrPast(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** The ticks in a port; times inside of breaks have none, and none is under another label. */
export function ticksIn(axis: Axis, port: Port, pixels: number, hasNow: boolean): Tick[] {
  const room = (port.width / Math.max(1, pixels)) * ROOM_PX
  const breaks = visibleBreaks(axis, port)
  const taken = [
    ...(hasNow ? [axis.length] : []),
    ...labelledBreaks(axis, port, pixels).map(({ from }) => axis.at(from) + axis.breakMs / 2),
  ]
  return allTicksIn(axis, port, pixels, breaks).filter(
    ({ position }) => !taken.some(other => Math.abs(other - position) < room * 1.6),
  )
}

/** Each stretch between breaks has its own ticks, so that a long break costs nothing. */
function allTicksIn(axis: Axis, port: Port, pixels: number, breaks: readonly Stretch[]): Tick[] {
  const step = stepOf(port, pixels)
  const ticks: Tick[] = []
  let from = axis.timeAt(port.from)
  const end = axis.timeAt(port.from + port.width)
  for (const stretch of [...breaks, { from: end, to: end }]) {
    const last = Math.min(stretch.from, end)
    for (let at = Math.ceil((from - axis.from) / step) * step; axis.from + at <= last; at += step)
      ticks.push({ position: axis.at(axis.from + at), elapsedMs: at })
    from = Math.max(from, stretch.to)
  }
  return apart(ticks, (port.width / Math.max(1, pixels)) * MIN_GAP_PX)
}

/** Without those that follow another one too closely, as around short stretches between breaks. */
function apart(ticks: readonly Tick[], least: number): Tick[] {
  const kept: Tick[] = []
  for (const tick of ticks)
    if (kept.length === 0 || tick.position - (kept.at(-1)?.position ?? 0) >= least) kept.push(tick)
  return kept
}

const two = (n: number): string => String(n).padStart(2, '0')

/** A time since the start of the run: "1:31", "1:04:00", "2 d 03:00"; with tenths below a second's step. */
export function formatElapsed(ms: number, step = SECOND): string {
  const seconds = Math.floor(ms / SECOND)
  const days = Math.floor(seconds / 86_400)
  const hours = Math.floor((seconds % 86_400) / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  if (days > 0) return `${days} d ${two(hours)}:${two(minutes)}`
  const clock = `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`
  if (step >= SECOND) return clock
  const digits = step >= 100 ? 1 : 2
  return `${clock}.${String(Math.floor(ms % SECOND))
    .padStart(3, '0')
    .slice(0, digits)}`
}
