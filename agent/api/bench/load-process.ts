/** The load generator as the parent has it: jobs out, reports in. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Job, Report } from './load.ts'

/** A measurement that takes longer has hung. */
const TOO_LONG_MS = 60_000

type Of<D extends Report['do']> = Extract<Report, { do: D }>
export type Load = {
  send(job: Job): void
  /** The next report of that kind; rejects when the load generator is gone or silent. */
  report<D extends Report['do']>(what: D): Promise<Of<D>>
  ask<D extends Report['do']>(job: Job, what: D): Promise<Of<D>>
  stop(): void
}

export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)))
  const gone = new AbortController()
  child.once('exit', () => gone.abort(new Error('[bench] the load generator ended before its time')))
  const load: Load = {
    send: job => void child.send(job),
    async report<D extends Report['do']>(what: D) {
      const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(TOO_LONG_MS)])
      for (;;) {
        const [message] = (await once(child, 'message', { signal })) as [Report]
        if (message.do === what) return message as Of<D>
      }
    },
    ask(job, what) {
      const answered = load.report(what)
      load.send(job)
      return answered
    },
    stop: () => {
      if (child.connected) child.disconnect()
    },
  }
  return load
}
