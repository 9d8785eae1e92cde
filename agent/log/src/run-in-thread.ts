/**
 * Runs long work in a thread of its own, so that the event loop stays free. Terminating the thread is the
 * only way to stop work that does not end by itself. Work whose memory a stranger decides belongs into a
 * process (run-in-process.ts): V8 aborts the whole process when a thread needs too much.
 */
import { Worker } from 'node:worker_threads'

export const MEMORY_MB = 256

export type ThreadLimits = { timeLimitMs: number; signal: AbortSignal }
type Ends = { done(): void; fail(error: Error): void }

/**
 * Begins work and waits until it is done or the time is up, and stops it then. Rejects with the reason of the
 * signal, and with what `fail` was given.
 */
export async function waitFor(
  { timeLimitMs, signal }: ThreadLimits,
  begin: (ends: Ends) => { stop(): unknown },
): Promise<'done' | 'too slow'> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<'done' | 'too slow'>()
  const work = begin({ done: () => resolve('done'), fail: reject })
  const timer = setTimeout(() => resolve('too slow'), timeLimitMs)
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    await work.stop()
  }
}

/**
 * Runs `script` with `job` as its workerData and hands what it posts to `take`, until that returns true for
 * the last of it, or the time is up. Rejects with the reason of the signal, and with what the thread throws.
 */
export const runInThread = <M>(
  script: URL,
  job: unknown,
  limits: ThreadLimits,
  take: (message: M) => boolean,
): Promise<'done' | 'too slow'> =>
  waitFor(limits, ({ done, fail }) => {
    const worker = new Worker(script, {
      workerData: job,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    })
    worker.on('message', (message: M) => {
      if (take(message)) done()
    })
    worker.on('error', fail)
    worker.on('exit', () => fail(new Error('the thread ended without an answer')))
    return { stop: () => worker.terminate() }
  })
