/**
 * Watches a model call for silence (contract 7): sends readers a heartbeat when nothing was shown for
 * `heartbeatMs`, and ends the call when the server gave no sign of life for `staleMs`.
 */
import type { Clock } from './clock.ts'
import { ModelError } from './provider.ts'

export type SilenceOptions = {
  clock: Clock
  heartbeatMs: number
  staleMs: number
  onHeartbeat: (silentMs: number) => void
  onStale: (error: ModelError) => void
}
export type SilenceWatch = {
  /** Call when something visible arrived. */
  shown(): void
  /** Call on any sign of life. */
  alive(): void
  stop(): void
}

export function watchSilence({
  clock,
  heartbeatMs,
  staleMs,
  onHeartbeat,
  onStale,
}: SilenceOptions): SilenceWatch {
  let shownAt = clock.monotonic()
  let aliveAt = shownAt
  let beatAt = shownAt
  let cancel: (() => void) | undefined

  function plan(): void {
    const due = Math.min(beatAt + heartbeatMs, aliveAt + staleMs)
    cancel = clock.after(Math.max(1, due - clock.monotonic()), check)
  }

  function check(): void {
    const now = clock.monotonic()
    if (now - aliveAt >= staleMs) {
      onStale(
        new ModelError(
          'timeout',
          `[model call] the server has been silent for ${Math.round((now - aliveAt) / 1000)} s; the ` +
            `limit is ${Math.round(staleMs / 1000)} s. Check that the model server is running and not ` +
            'overloaded. For a slow model, raise limits.llm_stale_s (limits.llm_stale_reasoning_s for one that ' +
            'reasons).',
          { retryable: true },
        ),
      )
      return
    }
    if (now - beatAt >= heartbeatMs) {
      beatAt = now
      onHeartbeat(Math.round(now - shownAt))
    }
    plan()
  }

  plan()
  return {
    shown() {
      aliveAt = shownAt = beatAt = clock.monotonic()
    },
    alive() {
      aliveAt = clock.monotonic()
    },
    stop: () => cancel?.(),
  }
}
