/**
 * The child process of runInProcess. The work runs in a thread, so that this process can exit as soon as the
 * service is gone, whatever the work does.
 */
import { Worker } from 'node:worker_threads'

export type HostedJob = { script: string; job: unknown; memoryMb: number }
export type HostMessage<M> = { posted: M } | { failed: string }

const answer = (message: HostMessage<unknown>): void => void process.send?.(message)

process.once('disconnect', () => process.exit())
process.once('message', ({ script, job, memoryMb }: HostedJob) => {
  const worker = new Worker(new URL(script), {
    workerData: job,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  })
  worker.on('message', posted => answer({ posted }))
  worker.on('error', error => answer({ failed: error.message }))
  worker.on('exit', () => answer({ failed: 'the thread ended without an answer' }))
})
