/**
 * Runs long work in a thread of its own, so that the event loop stays free. Terminating the thread is the
 * only way to stop work that does not end by itself.
 */
import { Worker } from 'node:worker_threads'

const MEMORY_MB = 256

export type ThreadLimits = { timeLimitMs: number; signal: AbortSignal }

/**
 * Runs `script` with `job` as its workerData and hands what it posts to `take`, until that returns true for
 * the last of it, or the time is up. Rejects with the reason of the signal, and with what the thread throws.
 */
export async function runInThread<M>(
  script: URL,
  job: unknown,
  { timeLimitMs, signal }: ThreadLimits,
  take: (message: M) => boolean,
): Promise<'done' | 'too slow'> {
  signal.throwIfAborted()
  const worker = new Worker(script, {
    workerData: job,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  const { promise, resolve, reject } = Promise.withResolvers<'done' | 'too slow'>()
  const timer = setTimeout(() => resolve('too slow'), timeLimitMs)
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  worker.on('message', (message: M) => {
    if (take(message)) resolve('done')
  })
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('the thread ended without an answer')))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  }
}
