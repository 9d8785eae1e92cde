/**
 * Runs long work in a thread, so that the event loop stays free. Terminating the thread is the only way to
 * stop work that does not end by itself. Work whose memory depends on untrusted input belongs in a process
 * (run-in-process.ts): V8 aborts the whole process when a thread needs too much.
 */
import { Worker } from 'node:worker_threads'

export const MEMORY_MB = 256

export type ThreadLimits = { timeLimitMs: number; signal: AbortSignal }
type Ends = { done(): void; fail(error: Error): void }

/**
 * Starts work and waits until it is done or times out; then stops it. Rejects with the reason of the signal,
 * or the error passed to `fail`.
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
 * Runs `script` with `job` as its workerData and passes its messages to `take`, until that returns true for
 * the last one, or the timeout. Rejects with the reason of the signal, or the error that the thread throws.
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
