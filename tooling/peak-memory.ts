/**
 * The most resident memory that this process has had.
 *
 * getrusage's `ru_maxrss` is not that: Linux carries it over an exec, so a program starts with the peak of
 * the process that started it (setmax_mm_hiwater_rss in fs/exec.c). `VmHWM` of proc(5) begins at zero.
 */
import { readFileSync } from 'node:fs'

/** In bytes. Where the system has no `VmHWM`: `ru_maxrss`. */
export function peakMemory(): number {
  const ownPeak = /^VmHWM:\s+(\d+) kB$/m.exec(processStatus())?.[1]
  return (ownPeak === undefined ? process.resourceUsage().maxRSS : Number(ownPeak)) * 1024
}

function processStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
