/**
 * Enforces limits that the kernel cannot apply to all processes of a command together, and anything else that
 * a caller wants watched. One loop for all commands, which uses at most a tenth of the time.
 */
import { readFileSync } from 'node:fs'
import type { SandboxLimits, Watch } from './sandbox.ts'
import type { ContainedProcesses } from './process-container.ts'

export type Watchdog = {
  /** Calls `end` once, with the reason; returns a function that stops watching. */
  add(watch: Watch, end: (reason: string) => void): () => void
}

const EVERY_MS = 200
/** The pause before the next poll, as a multiple of the duration of the last one. */
const IDLE_PER_LOOK = 9

export function createWatchdog(everyMs = EVERY_MS): Watchdog {
  const watched = new Set<{ watch: Watch; end: (reason: string) => void }>()
  let isRunning = false

  async function lookAround(): Promise<void> {
    const began = performance.now()
    for (const entry of watched) {
      // A failed poll reports nothing: the command may have ended, and that is not for the watchdog to judge.
      const reason = await Promise.resolve()
        .then(entry.watch)
        .catch(() => null)
      if (reason !== null && watched.delete(entry)) entry.end(reason)
    }
    const waitMs = Math.max(everyMs, IDLE_PER_LOOK * (performance.now() - began))
    isRunning = watched.size > 0
    if (isRunning) setTimeout(() => void lookAround(), waitMs).unref()
  }

  return {
    add(watch, end) {
      const entry = { watch, end }
      watched.add(entry)
      if (!isRunning) {
        isRunning = true
        setTimeout(() => void lookAround(), everyMs).unref()
      }
      return () => void watched.delete(entry)
    },
  }
}

/** Watches the processes of a command and their total memory. */
export const watchUsage =
  (held: Pick<ContainedProcesses, 'members'>, { pids, memory_mb }: SandboxLimits): Watch =>
  () => {
    const members = held.members(pids)
    if (members.length > pids) return `the command had more than ${pids} processes at once and was killed`
    const most = memory_mb * 2 ** 20
    // The first figure is quick to read but counts shared pages for each process; the second counts them
    // once.
    if (sum(members, residentBytes) <= most || sum(members, ownBytes) <= most) return null
    return `the command used more than ${memory_mb} MB of memory and was killed`
  }

const sum = (pids: readonly number[], bytes: (pid: number) => number): number =>
  pids.reduce((total, pid) => total + bytes(pid), 0)

const PAGE_BYTES = 4096

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // The process is gone and uses nothing.
    return ''
  }
}

const residentBytes = (pid: number): number => Number(readProc(pid, 'statm').split(' ')[1] ?? 0) * PAGE_BYTES

/** Shared pages in equal parts; all of them if that is not readable. */
function ownBytes(pid: number): number {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readProc(pid, 'smaps_rollup'))?.[1]
  return kilobytes === undefined ? residentBytes(pid) : Number(kilobytes) * 1024
}
