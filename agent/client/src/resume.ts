/**
 * An event stream that outlives its connections.
 *
 *   connecting → live ⇄ reconnecting …→ closed
 *                live → draining → reconnecting      (the server announced its shutdown)
 *
 * Only complete frames count: a frame cut off by a disconnect is dropped and sent again by the server,
 * because the next connection starts at the cursor of the last frame returned. The reader pulls, so a slow
 * one applies backpressure to the server instead of filling memory. It ends when the signal fires and throws
 * only for permanent errors.
 */
import { createParser } from 'eventsource-parser'
import { type Backoff, backoffMs } from './backoff.ts'
import { ApiError, readFailure } from './failure.ts'

export type Frame = { id: string | undefined; event: string | undefined; data: string }
export type StreamState = 'connecting' | 'live' | 'reconnecting' | 'draining' | 'closed'
export type StateDetail = {
  /** The reason for the end of the last connection; absent after a clean end. */
  error?: Error
  /** Delay before the next attempt. */
  delayMs?: number
}
export type ResumeOptions<T> = {
  /** Opens a connection at the current cursor. */
  open: (signal: AbortSignal) => Promise<Response>
  /** Decodes a frame and moves the cursor; null for a frame without news. */
  accept: (frame: Frame) => T | null
  signal: AbortSignal
  onState: (state: StreamState, detail: StateDetail) => void
  backoff: Backoff
  /**
   * Idle timeout: a connection that receives no byte for this time is dead. The server sends a heartbeat
   * every 10 s.
   */
  idleMs: number
  random: () => number
  now: () => number
}

export async function* resume<T>(options: ResumeOptions<T>): AsyncGenerator<T[], void, undefined> {
  const { signal, onState } = options
  let { backoff } = options
  /** Consecutive connections that delivered nothing. */
  let fruitless = 0
  onState('connecting', {})
  try {
    while (!signal.aborted) {
      let failure: unknown
      const connection = new AbortController()
      const watchdog = startWatchdog(options.idleMs, connection)
      try {
        const reader = await connect(options, AbortSignal.any([signal, connection.signal]))
        onState('live', {})
        const frames: Frame[] = []
        const decoder = new TextDecoder()
        const parser = createParser({
          onEvent: ({ id, event, data }) => frames.push({ id, event, data }),
          onRetry: ms => {
            backoff = { ...backoff, baseMs: ms }
          },
          onComment: comment => {
            if (comment.trim() === 'draining') onState('draining', {})
          },
        })
        for (;;) {
          watchdog.arm()
          const { done, value } = await reader.read()
          watchdog.disarm()
          if (done) break
          parser.feed(decoder.decode(value, { stream: true }))
          const batch: T[] = []
          for (const frame of frames.splice(0)) {
            try {
              const item = options.accept(frame)
              if (item !== null) batch.push(item)
            } catch (error) {
              // Items before the broken frame have moved the cursor, so they must still be returned.
              failure = error
              break
            }
          }
          if (batch.length > 0) {
            fruitless = 0
            yield batch
          }
          if (failure !== undefined) throw failure
        }
      } catch (error) {
        failure = connection.signal.aborted && !signal.aborted ? connection.signal.reason : error
        if (signal.aborted) return
        if (isFinal(failure)) throw failure
      } finally {
        watchdog.disarm()
        connection.abort()
      }
      const asked = failure instanceof ApiError ? (failure.retryAfterMs ?? 0) : 0
      const delayMs = Math.max(asked, backoffMs(fruitless++, backoff, options.random()))
      onState('reconnecting', failure instanceof Error ? { error: failure, delayMs } : { delayMs })
      await pause(delayMs, signal)
    }
  } finally {
    onState('closed', {})
  }
}

/** A permanent error: the request is wrong, its target is gone, or access is denied. */
class NotAStream extends Error {
  override readonly name = 'NotAStream'
}
const isFinal = (failure: unknown): boolean =>
  failure instanceof NotAStream || (failure instanceof ApiError && !failure.retryable)

async function connect(
  options: ResumeOptions<unknown>,
  signal: AbortSignal,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await options.open(signal)
  if (!response.ok) throw await readFailure(response, options.now())
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith('text/event-stream') || response.body === null)
    throw new NotAStream(
      `${response.url}: expected content type text/event-stream, got ${type || 'no content type'}`,
    )
  return response.body.getReader()
}

/** Armed while waiting for the server, starting with the connection attempt. */
function startWatchdog(idleMs: number, connection: AbortController): { arm: () => void; disarm: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  const disarm = (): void => clearTimeout(timer)
  const arm = (): void => {
    disarm()
    timer = setTimeout(() => connection.abort(new Error(`no data for ${idleMs / 1000} s`)), idleMs)
  }
  arm()
  return { arm, disarm }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
