/**
 * Runs work on untrusted input in a separate process. The memory limit of a thread would not protect this
 * process: V8 aborts the whole process when a thread allocates faster than it can be terminated.
 */
import { fork } from 'node:child_process'
import { moduleBeside } from '@cairn/tooling/beside'
import type { HostedJob, HostMessage } from './process-host.ts'
import { MEMORY_MB, type ThreadLimits, waitFor } from './run-in-thread.ts'

const HOST = moduleBeside(import.meta, './process-host')

/**
 * Runs `script` in a thread of a new process, as runInThread does in this one. `job` and the thread's
 * messages are copied by structured clone. Also rejects if the work needs more than 256 MB.
 */
export const runInProcess = <M>(
  script: URL,
  job: unknown,
  limits: ThreadLimits,
  take: (message: M) => boolean,
): Promise<'done' | 'too slow'> =>
  waitFor(limits, ({ done, fail }) => {
    const cache = process.env['NODE_COMPILE_CACHE']
    const child = fork(HOST, {
      serialization: 'advanced',
      env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', (message: HostMessage<M>) => {
      if ('failed' in message) fail(new Error(message.failed))
      else if (take(message.posted)) done()
    })
    child.on('error', fail)
    child.on('exit', (_code, signal) =>
      fail(
        new Error(
          signal === 'SIGABRT'
            ? `the work needed more than ${MEMORY_MB} MB of memory`
            : `its process ended without an answer (${signal ?? 'no signal'})`,
        ),
      ),
    )
    const hosted: HostedJob = { script: script.href, job, memoryMb: MEMORY_MB }
    child.send(hosted, error => {
      if (error !== null) fail(error)
    })
    return { stop: () => child.kill('SIGKILL') }
  })
