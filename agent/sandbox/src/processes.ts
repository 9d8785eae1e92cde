/** Reads processes from /proc, and sends signals to them. Linux only; finds nothing elsewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { asError } from '@cairn/protocol'

/** A process and its start time: a pid alone may have been reused. */
export type ProcessId = { pid: number; /** In ticks since the machine started. */ start: number }
export type Stat = { state: string; ppid: number; group: number; start: number }

export function readStat(pid: number, proc = '/proc'): Stat | null {
  let stat: string
  try {
    stat = readFileSync(`${proc}/${pid}/stat`, 'latin1')
  } catch {
    // The process is gone, which is a valid result.
    return null
  }
  // The name in parentheses may contain anything; the 3rd field of proc(5) is the first after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    state: fields[0] ?? '',
    ppid: Number(fields[1]),
    group: Number(fields[2]),
    start: Number(fields[19]),
  }
}

export function identify(pid: number): ProcessId | null {
  const stat = readStat(pid)
  return stat === null ? null : { pid, start: stat.start }
}

/** Zombies do not count as running. */
export function isRunning({ pid, start }: ProcessId): boolean {
  const stat = readStat(pid)
  return stat !== null && stat.start === start && stat.state !== 'Z' && stat.state !== 'X'
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export const allProcesses = (proc = '/proc'): number[] =>
  namesIn(proc)
    .filter(name => /^\d+$/.test(name))
    .map(Number)

/** Most kernels list a process's children; with others the parent of every process is read. */
const listsChildren = existsSync(`/proc/self/task/${process.pid}/children`)

export function childrenOf(pid: number): number[] {
  if (!listsChildren) return allProcesses().filter(other => readStat(other)?.ppid === pid)
  return namesIn(`/proc/${pid}/task`).flatMap(thread => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
        .split(' ')
        .filter(Boolean)
        .map(Number)
    } catch {
      return []
    }
  })
}

/** All descendants of a process, without itself; stops after `most`. */
export function descendantsOf(pid: number, most = Infinity): number[] {
  const found: number[] = []
  const open = [pid]
  while (open.length > 0 && found.length < most) {
    const children = childrenOf(open.pop() ?? 0)
    found.push(...children)
    open.push(...children)
  }
  return found
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // Already gone: the signal has no work to do.
    if ((asError(error) as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Signals a whole process group. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => signalProcess(-leader, signal)

/** Signals exactly this process, not one that reused its pid. */
export function signalExactly(target: ProcessId, signal: NodeJS.Signals): void {
  if (isRunning(target)) signalProcess(target.pid, signal)
}

/** Time for a killed process to exit: seconds on a busy machine. */
const PATIENCE_MS = 10_000

/** Polls, at first without delay, until `isOver`; rejects with `what` after ten seconds. */
export async function until(isOver: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (let waitMs = 1; !isOver(); waitMs = Math.min(waitMs * 2, 100)) {
    if (performance.now() > deadline) throw new Error(what)
    await new Promise(resolve => setTimeout(resolve, waitMs))
  }
}
