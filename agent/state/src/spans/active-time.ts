/**
 * The axis of a run. In active time, each stretch of more than 10 s in which nothing ran, or only a person
 * was awaited, is folded to a short break; in clock time nothing is. Positions on the axis are milliseconds,
 * in which a break counts as `breakMs`.
 */
import { kindNumber, type Spans } from './spans.ts'

export type Stretch = { from: number; to: number }

const FOLDED_FROM_MS = 10_000
/** The part of the axis that a break takes, and the most that all breaks take together. */
const BREAK_SHARE = 0.035
const BREAKS_SHARE = 0.3

const IDLE_KINDS: ReadonlySet<number> = new Set(
  (['turn', 'wait', 'gap', 'mark'] as const).map(kind => kindNumber(kind)),
)

/** The stretches between `from` and `to` in which nothing ran, longer than 10 s. `now` ends open spans. */
export function idleStretches(spans: Spans, range: Stretch, now: number): Stretch[] {
  const idle: Stretch[] = []
  let busyTo = range.from
  // The spans are in the order of their starts.
  for (let span = 0; span < spans.count; span++) {
    if (IDLE_KINDS.has(spans.kind[span] ?? 0)) continue
    const from = spans.from[span] ?? 0
    if (from - busyTo > FOLDED_FROM_MS) idle.push({ from: busyTo, to: Math.min(from, range.to) })
    const to = spans.to[span] ?? now
    busyTo = Math.max(busyTo, Number.isNaN(to) ? now : to)
  }
  if (range.to - busyTo > FOLDED_FROM_MS) idle.push({ from: busyTo, to: range.to })
  return idle
}

export type Axis = {
  /** Epoch milliseconds of its ends. */
  readonly from: number
  readonly to: number
  /** The folded stretches; empty in clock time. */
  readonly breaks: readonly Stretch[]
  /** Length of the axis, and of each break on it. */
  readonly length: number
  readonly breakMs: number
  /** The position of a time; times outside of the axis are moved to its ends. */
  at(time: number): number
  /** The time at a position. */
  timeAt(position: number): number
  /** Milliseconds between two times without the breaks. */
  active(from: number, to: number): number
}

export function createAxis(range: Stretch, breaks: readonly Stretch[]): Axis {
  const { from } = range
  const to = Math.max(range.to, from + 1)
  // The idle time before each break, and in all of them at the end.
  const skipped = [0]
  for (const stretch of breaks) skipped.push((skipped.at(-1) ?? 0) + stretch.to - stretch.from)
  const activeMs = Math.max(1, to - from - (skipped.at(-1) ?? 0))
  const share = breaks.length === 0 ? 0 : Math.min(BREAK_SHARE, BREAKS_SHARE / breaks.length)
  const breakMs = share === 0 ? 0 : rounded((activeMs * share) / (1 - share * breaks.length))
  const length = activeMs + breakMs * breaks.length

  function at(time: number): number {
    const clamped = Math.min(to, Math.max(from, time))
    const index = firstFrom(breaks, clamped)
    const stretch = breaks[index]
    const before = clamped - from - (skipped[index] ?? 0) + index * breakMs
    if (stretch === undefined || clamped <= stretch.from) return before
    const inside = clamped - stretch.from
    return before - inside + (inside / (stretch.to - stretch.from)) * breakMs
  }

  function timeAt(position: number): number {
    const clamped = Math.min(length, Math.max(0, position))
    let low = 0
    let high = breaks.length
    // The first break that ends after the position.
    while (low < high) {
      const middle = (low + high) >> 1
      if (at(breaks[middle]?.to ?? to) <= clamped) low = middle + 1
      else high = middle
    }
    const stretch = breaks[low]
    const time = from + clamped + (skipped[low] ?? 0) - low * breakMs
    if (stretch === undefined || time <= stretch.from) return Math.min(to, time)
    return stretch.from + ((time - stretch.from) / Math.max(1, breakMs)) * (stretch.to - stretch.from)
  }

  function active(start: number, end: number): number {
    let ms = end - start
    for (let index = firstFrom(breaks, start); index < breaks.length; index++) {
      const stretch = breaks[index]
      if (stretch === undefined || stretch.from >= end) break
      ms -= Math.min(end, stretch.to) - Math.max(start, stretch.from)
    }
    return Math.max(0, ms)
  }

  return { from, to, breaks, length, breakMs, at, timeAt, active }
}

/** The first break that does not end before a time. */
function firstFrom(breaks: readonly Stretch[], time: number): number {
  let low = 0
  let high = breaks.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((breaks[middle]?.to ?? 0) < time) low = middle + 1
    else high = middle
  }
  return low
}

/** A length in steps of an eighth of its power of two, so that a growing axis rarely moves its breaks. */
function rounded(ms: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, ms))) - 3)
  return Math.max(1, Math.round(ms / step) * step)
}
