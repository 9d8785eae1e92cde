/** Whether this process has time to spare, as its event loop has it. */
import { performance } from 'node:perf_hooks'
import { type Clock, sleep } from './clock.ts'

/** Of the time since the last look, and of no less than this. */
const WINDOW_MS = 20
/** The share of that time in which the loop did not wait for anything. What comes then waits in a line. */
const FULL = 0.75

type Loop = Pick<typeof performance, 'now' | 'eventLoopUtilization'>

/** Says whether it had little of late. */
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
/** Whatever goes on: what waits has to be done. */
const MAX_POLLS = 40

/** For what nobody waits for. Rejects with the signal's reason. */
export async function waitUntilFree(clock: Clock, isBusy: () => boolean, signal: AbortSignal): Promise<void> {
  for (let polls = 0; polls < MAX_POLLS && isBusy(); polls++) await sleep(clock, POLL_MS, signal)
}
