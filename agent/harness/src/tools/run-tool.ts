/**
 * Runs a tool within its timeout and the life of the turn. Handles what it throws, what it returns, and its
 * silence.
 */
import { asError, MAX_DEPTH, nestsTooDeep, clip } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import type { AskPerson, Tool, ToolContext, ToolOutcome } from './tool.ts'

/** Prefix of a failed tool's `error` (contract 13). */
const FAILED = 'Tool execution failed'

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
      ? `unknown tool ${clip(name, NAME_CHARS)}; available: ${offered.join(', ') || 'none'}`
      : `${absence}, so ${clip(name, NAME_CHARS)} was not called`,
  )

/** A tool that reports its own failure keeps its other keys; its `error` always gets the specified prefix. */
export function asFailure(content: ToolOutcome['content']): Record<string, unknown> | null {
  if (typeof content === 'string' || typeof content['error'] !== 'string') return null
  return content['error'].startsWith(FAILED) ? content : { ...content, ...failure(content['error']) }
}

/** Time for an aborted tool to end. */
const LET_GO_MS = 5000
/** Margin of the outer timeout for a tool with its own timeout. */
const OWN_TIME_MS = 10_000

export type RunLimits = { clock: Clock; signal: AbortSignal; defaultTimeoutMs: number; letGoMs?: number }

const nothing = (): void => {}

/**
 * Resolves with the tool's result, or with a failure for an exception or a timeout. Rejects with the signal's
 * reason if the turn was aborted before the tool had an outcome: the outcome is unknown and must not be
 * recorded.
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
  const startClock = (): (() => void) =>
    Number.isFinite(timeoutMs)
      ? clock.after(tool.keepsTime ? timeoutMs + OWN_TIME_MS : timeoutMs, () =>
          late.abort(new Error(`timed out after ${timeoutMs / 1000} s`)),
        )
      : nothing
  let stopClock = startClock()
  const { ask } = context
  /** A person takes their own time: the tool has its whole timeout again after the answer. */
  const askUntimed: AskPerson = async (asked, gone) => {
    if (ask === undefined) return null
    stopClock()
    try {
      return await ask(asked, AbortSignal.any([signal, gone]))
    } finally {
      stopClock = startClock()
    }
  }
  const stoppedWaiting = Promise.withResolvers<never>()
  let stopGrace = nothing
  const stopWaiting = () => {
    stopGrace = clock.after(letGoMs, () => stoppedWaiting.reject(signal.reason as Error))
  }
  signal.addEventListener('abort', stopWaiting, { once: true })
  // In a promise chain, so that a tool that throws before its first await is handled like any other.
  const running = Promise.resolve().then(() =>
    tool.run(args, { ...context, signal, timeoutMs, ...(ask === undefined ? {} : { ask: askUntimed }) }),
  )
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
    // The result of an abandoned tool is ignored; an unhandled rejection would end the process.
    running.catch(nothing)
  }
}
