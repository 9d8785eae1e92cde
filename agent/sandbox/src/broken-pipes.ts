/** Handles pipes to a sandboxed process, which break if it exits while this process writes to it. */
import type { ChildProcess } from 'node:child_process'

/** Without a listener, a pipe's error would end this process. Callers that need it add their own. */
export function surviveBrokenPipes({ stdio }: Pick<ChildProcess, 'stdio'>): void {
  for (const pipe of stdio) pipe?.on('error', () => pipe.destroy())
}
