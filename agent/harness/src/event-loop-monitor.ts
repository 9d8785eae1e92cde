/** Whether this process has spare capacity, measured on its event loop. */
import { performance } from 'node:perf_hooks'
import { type Clock, sleep } from '@cairn/models/clock'

/** Minimum interval of a measurement. */
const WINDOW_MS = 20
/** The event loop utilization from which the process counts as saturated; new work then queues up. */
const FULL = 0.75

type Loop = Pick<typeof performance, 'now' | 'eventLoopUtilization'>

/** True when the event loop was saturated recently. */
export function monitorEventLoop(loop: Loop = performance): () => boolean {
  let from = loop.eventLoopUtilization()
  let at = loop.now()
  let isBusy = false
  return () => {
    const now = loop.now()
    if (now - at >= WINDOW_MS) {
      isBusy = loop.eventLoopUtilization(from).utilization >= FULL
      from = loop.eventLoopUtilization()
      at = now
    }
    return isBusy
  }
}

const POLL_MS = 250
/** Maximum polls: after that the work runs even under load. */
const MAX_POLLS = 40

/** For background work. Rejects with the signal's reason. */
export async function waitUntilFree(clock: Clock, isBusy: () => boolean, signal: AbortSignal): Promise<void> {
  for (let polls = 0; polls < MAX_POLLS && isBusy(); polls++) await sleep(clock, POLL_MS, signal)
}
