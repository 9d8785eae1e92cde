/** The pipes of a process in a sandbox, which break when it ends while this process writes to it. */
import type { ChildProcess } from 'node:child_process'

/** Without a listener the error of a pipe ends this process. Callers add their own to learn of it. */
export function surviveBrokenPipes({ stdio }: Pick<ChildProcess, 'stdio'>): void {
  for (const pipe of stdio) pipe?.on('error', () => pipe.destroy())
}
