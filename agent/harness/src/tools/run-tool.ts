/**
 * Runs a tool within its time and the turn's life. What it throws, what it says and its silence all end here.
 */
import { asError, MAX_DEPTH, nestsTooDeep, clip } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import type { Tool, ToolContext, ToolOutcome } from './tool.ts'

/** What a failed tool's `error` begins with (contract 13). */
const FAILED = 'Tool execution failed'

/** The content of a failure. */
export const failure = (message: string): Record<string, unknown> => ({ error: `${FAILED}: ${message}` })

const NAME_CHARS = 100

/** The content for a call of a tool that is not offered under that name. */
export const unknownTool = (
  name: string,
  offered: readonly string[],
  absence?: string,
): Record<string, unknown> =>
  failure(
    absence === undefined
      ? `there is no tool named ${clip(name, NAME_CHARS)}; there are ${offered.join(', ') || 'none at all'}`
      : `${absence}, so ${clip(name, NAME_CHARS)} was not called`,
  )

/**
 * A tool that reports its failure itself keeps its other keys; its `error` begins as the spec says in any
 * case.
 */
export function asFailure(content: ToolOutcome['content']): Record<string, unknown> | null {
  if (typeof content === 'string' || typeof content['error'] !== 'string') return null
  return content['error'].startsWith(FAILED) ? content : { ...content, ...failure(content['error']) }
}

/** How long a tool may take to let go after it was told to end. */
const LET_GO_MS = 5000
/** By how much the limit around a tool that keeps time itself comes later than its own. */
const OWN_TIME_MS = 10_000

export type RunLimits = { clock: Clock; signal: AbortSignal; defaultTimeoutMs: number; letGoMs?: number }

const nothing = (): void => {}

/**
 * Resolves with what the tool returned, or with a failure for what it threw and for a timeout. Rejects with
 * the signal's reason when the turn was told to stop before the tool had an outcome: then nothing is known
 * and nothing may be recorded.
 */
export async function runTool(
  tool: Tool,
  args: Record<string, unknown>,
  context: Omit<ToolContext, 'signal' | 'timeoutMs'>,
  limits: RunLimits,
): Promise<ToolOutcome> {
  const { clock, letGoMs = LET_GO_MS } = limits
  limits.signal.throwIfAborted()
  const timeoutMs = tool.timeoutMs?.(args) ?? limits.defaultTimeoutMs
  const late = new AbortController()
  const signal = AbortSignal.any([limits.signal, late.signal])
  const stopClock = Number.isFinite(timeoutMs)
    ? clock.after(tool.keepsTime ? timeoutMs + OWN_TIME_MS : timeoutMs, () =>
        late.abort(new Error(`timed out after ${timeoutMs / 1000} s`)),
      )
    : nothing
  const stoppedWaiting = Promise.withResolvers<never>()
  let stopGrace = nothing
  const stopWaiting = () => {
    stopGrace = clock.after(letGoMs, () => stoppedWaiting.reject(signal.reason as Error))
  }
  signal.addEventListener('abort', stopWaiting, { once: true })
  // In a promise chain so that a tool which throws before its first await is caught like any other.
  const running = Promise.resolve().then(() => tool.run(args, { ...context, signal, timeoutMs }))
  try {
    const outcome = await Promise.race([running, stoppedWaiting.promise])
    if (nestsTooDeep(outcome.content)) throw new Error(`its result is nested deeper than ${MAX_DEPTH} levels`)
    return outcome
  } catch (error) {
    limits.signal.throwIfAborted()
    return { content: failure(asError(late.signal.aborted ? late.signal.reason : error).message) }
  } finally {
    stopClock()
    stopGrace()
    signal.removeEventListener('abort', stopWaiting)
    // Whatever a tool that was given up still says is nobody's result; unheard, it would end the process.
    running.catch(nothing)
  }
}
