/**
 * A process of a benchmark, separate so that its CPU and memory can be measured; it is controlled by
 * messages.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Timeout for an answer of the process. */
const TOO_LONG_MS = 180_000

export type BenchProcess = {
  /** The next message of the process. */
  hear(): Promise<unknown>
  ask(message: string | object): Promise<unknown>
  stop(): Promise<void>
}

export function startPart(name: string): BenchProcess {
  const child: ChildProcess = fork(fileURLToPath(new URL(`${name}.ts`, import.meta.url)))
  const gone = new AbortController()
  child.once('exit', () => gone.abort(new Error(`[bench] the process of the ${name} ended before its time`)))
  const part: BenchProcess = {
    async hear() {
      const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(TOO_LONG_MS)])
      const [message] = (await once(child, 'message', { signal })) as [unknown]
      return message
    },
    ask(message) {
      const answer = part.hear()
      child.send(message)
      return answer
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      if (child.connected) child.disconnect()
      await exited
    },
  }
  return part
}
