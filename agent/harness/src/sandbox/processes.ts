/** What /proc says about processes, and signals to them. Linux; elsewhere nothing is found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { asError } from '@cairn/protocol'

/** A process and when it began: a number alone may be another's by now. */
export type ProcessId = { pid: number; /** In ticks since the machine started. */ start: number }
export type Stat = { state: string; ppid: number; group: number; start: number }

export function readStat(pid: number, proc = '/proc'): Stat | null {
  let stat: string
  try {
    stat = readFileSync(`${proc}/${pid}/stat`, 'latin1')
  } catch {
    // It is over, which is an answer.
    return null
  }
  // The name in brackets may hold anything; the 3rd field of proc(5) is the first behind it.
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

/** Dead ones that nobody has collected yet do not run. */
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

/** Most kernels list a process's children; the others are asked for everybody's parent. */
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

/** Everything below a process, not itself; stops looking after `most`. */
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
    // Gone already is what we want.
    if ((asError(error) as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** To a whole process group. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => signalProcess(-leader, signal)

/** To this very process, not to one that got its number since. */
export function signalExactly(target: ProcessId, signal: NodeJS.Signals): void {
  if (isRunning(target)) signalProcess(target.pid, signal)
}

/** A killed process waits for its turn to die: on a busy machine, seconds. */
const PATIENCE_MS = 10_000

/** Asks again and again, at first at once, until `isOver`; rejects with `what` after ten seconds. */
export async function until(isOver: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (let waitMs = 1; !isOver(); waitMs = Math.min(waitMs * 2, 100)) {
    if (performance.now() > deadline) throw new Error(what)
    await new Promise(resolve => setTimeout(resolve, waitMs))
  }
}
