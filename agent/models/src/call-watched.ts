/**
 * A model call that no reader follows (a summary, an expert, a verdict): ended after a silence timeout,
 * retried if that can help.
 */
import { asError, type Config } from '@cairn/protocol'
import { backoffMs, MODEL_BACKOFF } from './backoff.ts'
import { type Clock, sleep } from './clock.ts'
import type { Logger } from './logger.ts'
import { watchSilence } from './silence.ts'
import { startCallTimeout } from './call-timeout.ts'
import { type ModelAnswer, ModelError, type ModelRequest } from './provider.ts'
import type { ResolvedModel } from './registry.ts'

/**
 * Max refusals in a row that only teach what a server accepts. Each changes the next request, so it is sent
 * at once and does not count as a retry.
 */
export const MAX_LESSONS = 40

export type WatchedDeps = {
  clock: Clock
  signal: AbortSignal
  random: () => number
  report: Logger
  limits: Pick<Config['limits'], 'llm_stale_s' | 'llm_stale_reasoning_s' | 'llm_call_s' | 'llm_retries'>
}

/** Rejects with ModelError when retries did not help, and with the signal's reason when it aborts. */
export async function callWatched(
  deps: WatchedDeps,
  served: ResolvedModel,
  request: ModelRequest,
  retries = deps.limits.llm_retries,
): Promise<ModelAnswer> {
  const { clock, signal, random, report } = deps
  let lessons = 0
  for (let attempt = 0; ;) {
    try {
      return await callOnce(deps, served, request)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ModelError && error.learned.length > 0 && ++lessons <= MAX_LESSONS) {
        report('info', 'learned from a refusal of the model server', {
          model: served.name,
          error: error.message,
        })
        continue
      }
      if (!(error instanceof ModelError) || !error.retryable || attempt >= retries) throw error
      report('warn', 'model call failed, will retry', {
        model: served.name,
        attempt,
        category: error.category,
        error: error.message,
      })
      await sleep(clock, backoffMs(MODEL_BACKOFF, attempt++, random(), error.retryAfterMs), signal)
    }
  }
}

async function callOnce(
  { clock, signal, limits }: WatchedDeps,
  served: ResolvedModel,
  request: ModelRequest,
): Promise<ModelAnswer> {
  const cut = new AbortController()
  const staleMs = 1000 * (served.reasoning ? limits.llm_stale_reasoning_s : limits.llm_stale_s)
  const watch = watchSilence({
    clock,
    heartbeatMs: staleMs,
    staleMs,
    onHeartbeat: () => {},
    onStale: error => cut.abort(error),
  })
  const stopClock = startCallTimeout(clock, limits, error => cut.abort(error))
  try {
    return await served.provider.call(request, () => watch.alive(), AbortSignal.any([signal, cut.signal]))
  } catch (error) {
    // The watcher's reason is more specific than the abort that it caused.
    throw cut.signal.aborted ? asError(cut.signal.reason) : error
  } finally {
    stopClock()
    watch.stop()
  }
}
