/**
 * The visible part of the axis. It lives outside of React: zooming and scrolling in time set three properties
 * of the container, and the bars follow by calc().
 */
export type Port = { readonly from: number; readonly width: number }

export type Viewport = {
  readonly port: Port
  readonly length: number
  /** Whether the whole run is visible, and stays so as it grows. */
  readonly isWhole: boolean
  /** Width of the strip that shows it, in CSS pixels. */
  readonly pixels: number
  /** Changes when the port has rested, so that labels find their side. */
  readonly settled: number
  subscribe(listener: () => void): () => void
  /** Called when a port has rested. */
  onSettled(listener: () => void): () => void
  setLength(length: number, pinsEnd: boolean): void
  setPixels(pixels: number): void
  show(port: Port): void
  showWhole(): void
  /** Zooms by a factor around a position of the axis. */
  zoom(factor: number, around: number): void
}

/** The shortest stretch that can be shown, in milliseconds of the axis. */
const MIN_WIDTH = 40
const SETTLED_MS = 140

/** The port within an axis: never wider than it, and never past its ends. */
export function fitted({ from, width }: Port, length: number): Port {
  const fit = Math.min(length, Math.max(MIN_WIDTH, width))
  return { from: Math.min(Math.max(0, from), length - fit), width: fit }
}

const zoomed = ({ from, width }: Port, factor: number, around: number): Port => ({
  from: around - (around - from) * factor,
  width: width * factor,
})

type Timers = { start: (run: () => void, ms: number) => number; stop: (timer: number) => void }
const TIMERS: Timers = {
  start: (run, ms) => window.setTimeout(run, ms),
  stop: timer => window.clearTimeout(timer),
}

export function createViewport(timers: Timers = TIMERS): Viewport {
  const listeners = new Set<() => void>()
  const settledListeners = new Set<() => void>()
  let length = 1
  let port: Port = { from: 0, width: 1 }
  let isWhole = true
  let settled = 0
  let timer = 0
  let pixels = 600

  function set(next: Port, whole: boolean): void {
    const fit = whole ? { from: 0, width: length } : fitted(next, length)
    isWhole = whole || fit.width >= length
    if (fit.from === port.from && fit.width === port.width) return
    port = fit
    for (const listener of listeners) listener()
    timers.stop(timer)
    timer = timers.start(() => {
      settled += 1
      for (const listener of settledListeners) listener()
    }, SETTLED_MS)
  }

  return {
    get port() {
      return port
    },
    get length() {
      return length
    },
    get isWhole() {
      return isWhole
    },
    get pixels() {
      return pixels
    },
    get settled() {
      return settled
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onSettled(listener) {
      settledListeners.add(listener)
      return () => settledListeners.delete(listener)
    },
    setLength(next, pinsEnd) {
      if (next === length) return
      const atEnd = pinsEnd && !isWhole
      length = next
      set(atEnd ? { from: next - port.width, width: port.width } : port, isWhole)
    },
    setPixels(next) {
      if (next === pixels || next === 0) return
      pixels = next
      for (const listener of listeners) listener()
    },
    show: next => set(next, false),
    showWhole: () => set(port, true),
    zoom: (factor, around) => set(zoomed(port, factor, around), false),
  }
}
