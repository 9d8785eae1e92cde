/** The axis above the rows with its labels, and the lines that lead from them through the rows. */
import { type CSSProperties, useEffect, useRef, useState } from 'react'
import type { Stretch } from '@cairn/state'
import { formatDuration, formatTime } from '../format.ts'
import { runWords } from '../words/run.ts'
import { formatElapsed, labelledBreaks, stepOf, ticksIn, visibleBreaks } from './ticks.ts'
import type { Run } from './use-run.ts'
import type { Viewport } from './viewport.ts'

const at = (position: number): CSSProperties => ({ '--s': position }) as CSSProperties
const stretch = (from: number, to: number): CSSProperties => ({ '--s': from, '--e': to }) as CSSProperties

export function AxisHead({ run }: { run: Run }) {
  const { axis, viewport } = run
  const lane = useRef<HTMLDivElement>(null)
  usePixels(lane, viewport)
  usePort(run)
  const { port, pixels } = viewport
  const step = stepOf(port, pixels)
  return (
    <div className="run-axis">
      <div className="run-axis-label">
        <span>{runWords.step}</span>
        <span>{runWords.duration}</span>
      </div>
      <div className="run-axis-lane numeric" ref={lane} aria-hidden="true">
        {ticksIn(axis, port, pixels, run.isAlive).map(({ position, elapsedMs }) => (
          <span
            key={elapsedMs}
            className="run-tick"
            style={at(position)}
            data-edge={position - port.from < port.width * 0.02 || undefined}
            title={new Date(axis.from + elapsedMs).toLocaleString('en-GB')}
          >
            {formatElapsed(elapsedMs, step)}
          </span>
        ))}
        {labelledBreaks(axis, port, pixels).map(({ from, to }) => (
          <span key={from} className="run-tick run-break-label" style={at(axis.at(from) + axis.breakMs / 2)}>
            {formatDuration(to - from)}
          </span>
        ))}
        {run.isAlive && (
          <span className="run-tick run-now-label" style={at(axis.length)} data-known={run.isLive}>
            {run.isLive ? runWords.now : lastKnown(run)}
          </span>
        )}
      </div>
    </div>
  )
}

/** More breaks than these would be closer than their hatching. */
const MAX_BREAKS = 120

/** The breaks in the visible part. */
function breaksIn({ axis, viewport }: Run): readonly Stretch[] {
  const visible = visibleBreaks(axis, viewport.port)
  return visible.length > MAX_BREAKS ? [] : visible
}

const lastKnown = ({ source, now }: Run): string =>
  runWords.lastKnown(formatTime(new Date(source.at).toISOString(), now))

export function AxisLines({ run }: { run: Run }) {
  const { axis, viewport } = run
  usePort(run)
  return (
    <div className="run-lines" aria-hidden="true">
      {ticksIn(axis, viewport.port, viewport.pixels, run.isAlive).map(({ position, elapsedMs }) => (
        <i key={elapsedMs} className="run-line" style={at(position)} />
      ))}
      {breaksIn(run).map(({ from }) => (
        <i key={from} className="run-break" style={stretch(axis.at(from), axis.at(from) + axis.breakMs)} />
      ))}
      {run.isAlive && <i className="run-line run-now" data-known={run.isLive} style={at(axis.length)} />}
    </div>
  )
}

/** Renders once a frame while the visible part moves. */
function usePort({ viewport }: Run): void {
  const [, setPort] = useState(viewport.port)
  useEffect(() => {
    let frame = 0
    const stop = viewport.subscribe(() => {
      if (frame !== 0) return
      frame = requestAnimationFrame(() => {
        frame = 0
        setPort({ ...viewport.port })
      })
    })
    return () => {
      stop()
      cancelAnimationFrame(frame)
    }
  }, [viewport])
}

/** Measures the strip that all rows share. */
function usePixels(lane: { readonly current: HTMLElement | null }, viewport: Viewport): void {
  useEffect(() => {
    const { current } = lane
    if (current === null) return
    const observer = new ResizeObserver(() => viewport.setPixels(current.clientWidth))
    observer.observe(current)
    return () => observer.disconnect()
  }, [lane, viewport])
}
