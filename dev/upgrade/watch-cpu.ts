/** How busy the machine is: a slow answer of a process that waited for a CPU is no fault of that process. */
import { existsSync, readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Linux only: the time in which at least one task waited for a CPU. */
const PRESSURE = '/proc/pressure/cpu'

/** Microseconds since the start of the machine; null where the kernel does not count them. */
function waitedUs(): number | null {
  if (!existsSync(PRESSURE)) return null
  return Number(/some .*total=(\d+)/.exec(readFileSync(PRESSURE, 'utf8'))?.[1])
}

/** Milliseconds of all CPUs: idle, and in total. */
function usedMs(): { idle: number; total: number } {
  const times = cpus().map(({ times: each }) => each)
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    total: times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0),
  }
}

/**
 * Linux only: nanoseconds that the main thread of a process ran, and that it waited for a CPU. Null if it has
 * ended.
 */
function scheduledNs(pid: number): { ran: number; waited: number } | null {
  try {
    const [ran, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return { ran: ran ?? 0, waited: waited ?? 0 }
  } catch {
    return null
  }
}

const SAMPLE_MS = 250

/** `pids`: the processes that acknowledge messages. */
export function watchCpu(pids: () => readonly number[]): { end(): string } {
  const [from, waited, used] = [performance.now(), waitedUs(), usedMs()]
  const clients = monitorEventLoopDelay({ resolution: 20 })
  clients.enable()
  const first = new Map<number, { ran: number; waited: number }>()
  const last = new Map<number, { ran: number; waited: number }>()
  const sample = (): void => {
    for (const pid of pids()) {
      const now = scheduledNs(pid)
      if (now === null) continue
      if (!first.has(pid)) first.set(pid, now)
      last.set(pid, now)
    }
  }
  sample()
  const timer = setInterval(sample, SAMPLE_MS)
  return {
    end() {
      sample()
      clearInterval(timer)
      clients.disable()
      const us = waitedUs()
      const share = (part: number, whole: number): string => `${Math.round((100 * part) / whole)} %`
      const now = usedMs()
      const sum = (of: 'ran' | 'waited'): number =>
        [...last].reduce((ns, [pid, each]) => ns + each[of] - (first.get(pid)?.[of] ?? 0), 0) / 1e9
      return [
        `${cpus().length} CPUs ${share(now.total - now.idle - (used.total - used.idle), now.total - used.total)} busy`,
        ...(us === null || waited === null
          ? []
          : [`a task waited for a CPU ${share((us - waited) / 1000, performance.now() - from)} of the time`]),
        `load ${loadavg()
          .map(load => load.toFixed(1))
          .join(' ')}`,
        `the api processes ran ${sum('ran').toFixed(1)} s and waited ${sum('waited').toFixed(1)} s for a CPU`,
        `event loop of the clients delayed ${Math.round(clients.percentile(99) / 1e6)} ms (p99)`,
      ].join(', ')
    },
  }
}
