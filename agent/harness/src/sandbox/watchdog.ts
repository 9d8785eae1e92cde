/**
 * Looks after running commands, where the kernel has no limit for what all their processes use together, and
 * after whatever else a caller wants watched. One loop for all of them, which takes a tenth of the time at
 * most.
 */
import { readFileSync } from 'node:fs'
import type { SandboxLimits } from './sandbox.ts'
import type { ContainedProcesses } from './process-container.ts'

/** The reason to end what is watched, or null. */
export type Watch = () => Promise<string | null> | string | null
export type Watchdog = {
  /** Calls `end` once, with the reason; returns how to stop watching. */
  add(watch: Watch, end: (reason: string) => void): () => void
}

const EVERY_MS = 200
/** Of the time that a look took, so long is waited until the next. */
const IDLE_PER_LOOK = 9

export function createWatchdog(everyMs = EVERY_MS): Watchdog {
  const watched = new Set<{ watch: Watch; end: (reason: string) => void }>()
  let isRunning = false

  async function lookAround(): Promise<void> {
    const began = performance.now()
    for (const entry of watched) {
      // A look that fails sees nothing: the command may be over, and its end is not for the watchdog to
      // judge.
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

/** The processes of a command and their memory, all together. */
export const watchUsage =
  (held: Pick<ContainedProcesses, 'members'>, { pids, memory_mb }: SandboxLimits): Watch =>
  () => {
    const members = held.members(pids)
    if (members.length > pids) return `the command had more than ${pids} processes at once, and was ended`
    const most = memory_mb * 2 ** 20
    // Pages that are shared count for each of their processes in the first figure, which is quick to read,
    // and once in the second.
    if (sum(members, residentBytes) <= most || sum(members, ownBytes) <= most) return null
    return `the command used more than ${memory_mb} MB of memory, and was ended`
  }

const sum = (pids: readonly number[], bytes: (pid: number) => number): number =>
  pids.reduce((total, pid) => total + bytes(pid), 0)

const PAGE_BYTES = 4096

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // It is over, and uses nothing.
    return ''
  }
}

const residentBytes = (pid: number): number => Number(readProc(pid, 'statm').split(' ')[1] ?? 0) * PAGE_BYTES

/** Shared pages in equal parts; where that may not be read, all of them. */
function ownBytes(pid: number): number {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readProc(pid, 'smaps_rollup'))?.[1]
  return kilobytes === undefined ? residentBytes(pid) : Number(kilobytes) * 1024
}
